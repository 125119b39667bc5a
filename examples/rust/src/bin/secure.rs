//! Encrypts and authenticates: secure SERVERS CA_FILE [USER PASSWORD]
#![forbid(unsafe_code)]

use farcache_client::{Client, ClientConfig, Credentials, Error, TlsSettings};

fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [servers, ca_file, credentials @ ..] = &arguments[..] else {
        let usage = "secure SERVERS CA_FILE [USER PASSWORD]";
        return Err(Error::InvalidArguments(usage));
    };
    let credentials = match credentials {
        [user, password] => Some(Credentials {
            user: user.clone(),
            password: password.clone(),
        }),
        _ => None,
    };
    let config = ClientConfig {
        // What the server's certificate was signed with; the server's name is that of its address
        // unless one is given.
        tls: Some(TlsSettings {
            ca_file: ca_file.into(),
            identity: None,
            server_name: None,
        }),
        credentials,
        ..ClientConfig::new(servers)?
    };
    let client = Client::new(&config)?;
    client.set("secret", "value", 60)?;
    println!("stored: {}", client.get("secret")?.is_some());
    Ok(())
}
