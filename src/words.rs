//! One way to declare a closed set of words: an enum, its codes, and the way back from a code.
//! Knows nothing of what any of the words mean.

/// Declares an enum whose variants have stable snake_case codes.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident ($field:literal) { $($(#[$vdoc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every word of the set, in ascending order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The stable code, in snake_case.
            pub fn code(self) -> &'static str {
                match self { $($name::$variant => $code,)* }
            }

            /// Reads a code.
            ///
            /// # Errors
            /// `Invalid`, listing the codes there are.
            pub fn parse(text: &str) -> $crate::error::Result<$name> {
                $name::ALL.iter().copied().find(|word| word.code() == text).ok_or_else(|| {
                    let codes: Vec<&str> = $name::ALL.iter().map(|word| word.code()).collect();
                    $crate::error::Error::invalid($field, format!("must be one of {}", codes.join(", ")))
                })
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.code())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Error;
            fn from_str(text: &str) -> $crate::error::Result<$name> {
                $name::parse(text)
            }
        }
    };
}

pub(crate) use words;
