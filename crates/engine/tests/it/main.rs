//! Integration tests of the engine, in one program so that its dependencies are linked once.

mod building;
mod carray;
mod columns;
mod completeness;
mod confinement;
mod connections;
mod counting;
mod functions;
mod libraries;
mod memory;
mod observing;
mod pragmas;
mod schema;
mod support;
