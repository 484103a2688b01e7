import jakarta.persistence.*;
import java.util.*;
import org.hibernate.cfg.Configuration;

/** A library of books with Hibernate: lazy associations, batches, optimistic locking, queries in pages. */
public class Library {
    @Entity(name = "Author")
    public static class Author {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
        String name;
        @OneToMany(mappedBy = "author") List<Book> books = new ArrayList<>();
    }

    @Entity(name = "Book")
    public static class Book {
        @Id Long id;
        String title;
        int pages;
        @Version int version;
        @ManyToOne(fetch = FetchType.LAZY) Author author;
    }

    public static void main(String[] arguments) {
        var configuration = new Configuration().addAnnotatedClass(Author.class).addAnnotatedClass(Book.class);
        configuration.setProperty("hibernate.connection.url", "jdbc:sqlite:app.db");
        configuration.setProperty("hibernate.dialect", "org.hibernate.community.dialect.SQLiteDialect");
        configuration.setProperty("hibernate.hbm2ddl.auto", "create");
        configuration.setProperty("hibernate.connection.pool_size", "1");
        try (var factory = configuration.buildSessionFactory()) {
            for (int number = 0; number < 10; number++) {
                int author = number;
                factory.inTransaction(session -> {
                    var person = new Author();
                    person.name = "author " + author;
                    session.persist(person);
                    for (int book = 0; book < 8; book++) {
                        var written = new Book();
                        written.id = author * 100L + book;
                        written.title = "book " + book + " of " + author;
                        written.pages = 100 + book;
                        written.author = person;
                        session.persist(written);
                    }
                });
            }
            for (int round = 0; round < 20; round++) {
                int page = round;
                factory.inTransaction(session -> {
                    var query = session.createQuery("from Book where pages > :pages order by title", Book.class);
                    var books = query.setParameter("pages", 102).setFirstResult(page).setMaxResults(5).list();
                    for (var book : books) book.pages += 1;
                });
                factory.inSession(session -> {
                    int books = 0;
                    for (var author : session.createQuery("from Author", Author.class).list()) books += author.books.size();
                    if (books != 80) throw new IllegalStateException("books: " + books);
                });
            }
            try {
                factory.inTransaction(session -> {
                    session.persist(new Author());
                    throw new IllegalArgumentException("changed my mind");
                });
            } catch (IllegalArgumentException expected) {
                // Rolled back.
            }
        }
    }
}
