"""A ledger through SQLAlchemy's ORM: transfers in transactions, some rolled back, look-ups, errors."""
import hashlib

from sqlalchemy import ForeignKey, LargeBinary, create_engine, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship


class Base(DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "account"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    balance: Mapped[float]
    entries: Mapped[list["Entry"]] = relationship(back_populates="account")


class Entry(Base):
    __tablename__ = "entry"
    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    note: Mapped[str]
    amount: Mapped[float]
    seal: Mapped[bytes] = mapped_column(LargeBinary)
    account: Mapped[Account] = relationship(back_populates="entries")


engine = create_engine("sqlite:///ledger.db")
Base.metadata.create_all(engine)
with Session(engine) as session:
    session.add_all(Account(name=f"Konto №{i}", balance=100.1) for i in range(50))
    session.commit()
for i in range(300):
    with Session(engine) as session:
        account = session.get(Account, i * 7 % 50 + 1)
        account.balance -= 0.1 * i
        account.entries.append(Entry(note=f"it's entry {i}", amount=0.1 * i, seal=hashlib.md5(str(i).encode()).digest()))
        session.flush()
        session.rollback() if i % 10 == 0 else session.commit()
        session.scalars(select(Entry).where(Entry.account_id == i % 50).order_by(Entry.id.desc())).first()
        if i % 20 == 0:
            session.add(Account(name=f"Konto №{i}", balance=0))
            try:
                session.commit()
            except IntegrityError:
                session.rollback()
engine.dispose()
