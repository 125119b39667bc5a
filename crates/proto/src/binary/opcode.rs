//! What a packet asks for.

macro_rules! opcodes {
    ($($(#[$doc:meta])* $name:ident = $byte:literal, loud $loud:ident;)*) => {
        /// A command; the quiet forms, named `...Q`, answer only what is not to be expected.
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Opcode { $($(#[$doc])* $name = $byte,)* }

        impl Opcode {
            /// Every opcode known.
            pub const ALL: &[Opcode] = &[$(Opcode::$name,)*];

            /// The command with this opcode.
            pub fn from_byte(byte: u8) -> Option<Opcode> {
                match byte { $($byte => Some(Opcode::$name),)* _ => None }
            }

            /// The form of this command that always answers.
            pub fn loud(self) -> Opcode {
                match self { $(Opcode::$name => Opcode::$loud,)* }
            }
        }
    };
}

opcodes! {
    /// Get a value.
    Get = 0x00, loud Get;
    /// Store a value.
    Set = 0x01, loud Set;
    /// Store a value where the key is absent.
    Add = 0x02, loud Add;
    /// Store a value where the key is present.
    Replace = 0x03, loud Replace;
    /// Remove an item.
    Delete = 0x04, loud Delete;
    /// Add to a number.
    Increment = 0x05, loud Increment;
    /// Subtract from a number.
    Decrement = 0x06, loud Decrement;
    /// Close the connection.
    Quit = 0x07, loud Quit;
    /// Drop every item, now or later.
    Flush = 0x08, loud Flush;
    /// Quiet on a miss.
    GetQ = 0x09, loud Get;
    /// Answer, and flush the answers of quiet commands before.
    Noop = 0x0a, loud Noop;
    /// Tell the server's version.
    Version = 0x0b, loud Version;
    /// Get a value and return the key too.
    GetK = 0x0c, loud GetK;
    /// Quiet on a miss.
    GetKQ = 0x0d, loud GetK;
    /// Append to a value.
    Append = 0x0e, loud Append;
    /// Put in front of a value.
    Prepend = 0x0f, loud Prepend;
    /// Statistics: one packet each, then an empty one.
    Stat = 0x10, loud Stat;
    /// Quiet on success.
    SetQ = 0x11, loud Set;
    /// Quiet on success.
    AddQ = 0x12, loud Add;
    /// Quiet on success.
    ReplaceQ = 0x13, loud Replace;
    /// Quiet on success.
    DeleteQ = 0x14, loud Delete;
    /// Quiet on success.
    IncrementQ = 0x15, loud Increment;
    /// Quiet on success.
    DecrementQ = 0x16, loud Decrement;
    /// Quiet.
    QuitQ = 0x17, loud Quit;
    /// Quiet on success.
    FlushQ = 0x18, loud Flush;
    /// Quiet on success.
    AppendQ = 0x19, loud Append;
    /// Quiet on success.
    PrependQ = 0x1a, loud Prepend;
    /// Set the log verbosity.
    Verbosity = 0x1b, loud Verbosity;
    /// Give an item a new expiry.
    Touch = 0x1c, loud Touch;
    /// Get a value and give it a new expiry.
    Gat = 0x1d, loud Gat;
    /// Quiet on a miss.
    GatQ = 0x1e, loud Gat;
    /// List the SASL mechanisms.
    SaslList = 0x20, loud SaslList;
    /// Begin SASL authentication.
    SaslAuth = 0x21, loud SaslAuth;
    /// Continue SASL authentication.
    SaslStep = 0x22, loud SaslStep;
    /// Like [`Opcode::Gat`], and returns the key too.
    GatK = 0x23, loud GatK;
    /// Quiet on a miss.
    GatKQ = 0x24, loud GatK;
    /// Tell which servers the cluster has; of Amazon ElastiCache.
    ConfigGet = 0x60, loud ConfigGet;
    /// Ask to be let in to the fabric; Farcache's own. The value is a version (1) and, one byte
    /// each, the networks that the client can use.
    FabricUpgrade = 0xf0, loud FabricUpgrade;
    /// Store a value if its version, the header's CAS token, is newer than what the server has of
    /// the key; Farcache's own, as all that follow.
    SetVersioned = 0xf1, loud SetVersioned;
    /// Put a tombstone in place of an item if its version is newer.
    DeleteVersioned = 0xf2, loud DeleteVersioned;
    /// Get a value with its version, or up to so many bytes of it; or a tombstone's version. With a
    /// version as CAS token the server promises to take nothing older for the key from now on.
    GetVersioned = 0xf3, loud GetVersioned;
    /// List what the server has of values that lie on several; for its peers only.
    ListParts = 0xf4, loud ListParts;
    /// Store a value at all of its key's servers, as copies or as shards that the server makes. The
    /// extras say how, behind those of a set.
    SetSpread = 0xf5, loud SetSpread;
    /// Get a value that lies on several servers, which the server puts together. The extras say how
    /// it lies there.
    GetSpread = 0xf6, loud GetSpread;
    /// Tell that a version is complete, without an answer (see [`super::split_told`]).
    TellComplete = 0xf7, loud TellComplete;
    /// Tell the map of the cluster, if it is another than the one whose edition is the header's CAS
    /// token.
    ClusterMap = 0xf8, loud ClusterMap;
    /// Tell that the key's value has been read from others of its servers, without an answer.
    TellUsed = 0xf9, loud TellUsed;
}

impl Opcode {
    /// Whether this is the quiet form of a command.
    pub fn is_quiet(self) -> bool {
        self != self.loud()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opcode_is_found_by_its_byte() {
        let found = (0..=u8::MAX).filter_map(Opcode::from_byte).count();
        assert_eq!(found, Opcode::ALL.len());
        for &opcode in Opcode::ALL {
            assert_eq!(Opcode::from_byte(opcode as u8), Some(opcode));
            assert!(!opcode.loud().is_quiet());
        }
    }

    #[test]
    fn quiet_forms_are_those_named_so() {
        for &opcode in Opcode::ALL {
            assert_eq!(
                opcode.is_quiet(),
                format!("{opcode:?}").ends_with('Q'),
                "{opcode:?}"
            );
        }
    }
}
