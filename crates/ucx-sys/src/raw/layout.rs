//! Layouts as data: asserted at compile time, compared with C by a test.

/// One structure: what C's `sizeof` and `offsetof` must say of it.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The C type's name.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: usize,
    /// Its fields, in order.
    pub fields: &'static [Field],
}

/// One field of a structure.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// The field's name in C.
    pub name: &'static str,
    /// Offset from the start of the structure, in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
}

/// One constant: its name in C, and its value.
pub type Constant = (&'static str, i64);

/// Size of the field that the function reads, in bytes.
pub(super) const fn field_bytes<T, F>(_read: fn(&T) -> &F) -> usize {
    size_of::<F>()
}

/// Asserts sizes and offsets, and lists them as `LAYOUTS`.
macro_rules! layouts {
    ($($type:ident, $bytes:literal bytes: { $($field:ident at $offset:literal),+ $(,)? })+) => {
        $(const _: () = {
            assert!(size_of::<$type>() == $bytes);
            $(assert!(std::mem::offset_of!($type, $field) == $offset);)+
        };)+

        /// The structures of this file.
        pub(super) const LAYOUTS: &[crate::raw::layout::Layout] = &[$(crate::raw::layout::Layout {
            name: stringify!($type),
            bytes: $bytes,
            fields: &[$(crate::raw::layout::Field {
                name: stringify!($field),
                offset: $offset,
                bytes: crate::raw::layout::field_bytes(|value: &$type| &value.$field),
            }),+],
        }),+];
    };
}

/// Declares constants, and lists them as `CONSTANTS`.
macro_rules! constants {
    ($($(#[$about:meta])* $name:ident: $type:ty = $value:expr;)+) => {
        $($(#[$about])* pub const $name: $type = $value;)+

        /// The constants of this file.
        pub(super) const CONSTANTS: &[crate::raw::layout::Constant] =
            &[$((stringify!($name), $name as i64)),+];
    };
}

/// Declares a type that only UCX looks into, and the pointer to it that C calls a handle.
macro_rules! handles {
    ($($(#[$about:meta])* $handle:ident -> $type:ident;)+) => {$(
        /// Behind a handle; only UCX knows what it holds.
        #[repr(C)]
        #[derive(Debug)]
        pub struct $type {
            _private: [u8; 0],
        }

        $(#[$about])*
        pub type $handle = *mut $type;
    )+};
}

pub(super) use {constants, handles, layouts};
