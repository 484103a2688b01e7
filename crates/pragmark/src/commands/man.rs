//! `pragmark man`: made from the definitions of the command line.

use app::Error;

use crate::cli;
use crate::exit::Exit;
use crate::output;

/// Prints the manual page.
pub fn page() -> Result<Exit, Error> {
    let mut command = cli::command();
    command.build();
    output::write(None, |writer| {
        let man = clap_mangen::Man::new(command.clone());
        man.render(writer)?;
        for sub in
            command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
        {
            let man = clap_mangen::Man::new(sub.clone());
            writeln!(writer, ".SH \"PRAGMARK {}\"", sub.get_name().to_uppercase())?;
            man.render_description_section(writer)?;
            man.render_synopsis_section(writer)?;
            man.render_options_section(writer)?;
            man.render_extra_section(writer)?;
        }
        writer.flush()
    })
}
