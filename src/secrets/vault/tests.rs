use super::*;
use crate::secrets::{Kind, Scrubber};
use std::path::Path;

struct Home(tempfile::TempDir);

const CANARY: &str = "TILLER-3030/kept";

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("folder"))
    }
    fn place(&self) -> Place {
        let at = |p: &str| self.0.path().join(p);
        Place {
            file: at("data/vault.age"),
            identity_file: at("config/identity.txt"),
            state: at("state"),
        }
    }
    fn vault(&self) -> Vault {
        let place = self.place();
        let unlock = Unlock::IdentityFile(place.identity_file.clone());
        Vault::new(place, unlock)
    }
    fn filled(&self) -> Vault {
        let vault = self.vault();
        vault
            .add("code-host-user", "http://Code.test:80/", fields(CANARY))
            .expect("add");
        vault
    }
}

fn secret(text: &str) -> Secret {
    Secret::new(text.into()).expect("value")
}

fn fields(password: &str) -> BTreeMap<String, Secret> {
    BTreeMap::from([
        ("username".into(), secret("alice@x.test")),
        ("password".into(), secret(password)),
    ])
}

fn says(error: &VaultError) -> String {
    let text = format!("{error} {error:?}");
    assert!(
        !text.contains("TILLER") && !text.contains("alice"),
        "{text}"
    );
    text
}

#[test]
fn a_credential_is_kept_listed_rotated_and_removed() {
    let home = Home::new();
    let vault = home.filled();
    let listed = vault.list().expect("list");
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].origin, "http://code.test");
    assert_eq!(listed[0].fields, ["password", "username"]);
    assert!(!format!("{listed:?}").contains("TILLER"));
    let opened = vault.get("code-host-user").expect("open").expect("there");
    assert_eq!(opened.fields["password"].expose(), CANARY);
    vault
        .rotate("code-host-user", "password", &secret("NEW-value-1"))
        .expect("rotate");
    let opened = vault.get("code-host-user").expect("open").expect("there");
    assert_eq!(opened.fields["password"].expose(), "NEW-value-1");
    assert!(vault.list().expect("list")[0].rotated.is_some());
    assert!(matches!(
        vault.rotate("code-host-user", "pin", &secret("1")),
        Err(VaultError::NoField { .. })
    ));
    assert!(matches!(
        vault.add("code-host-user", "http://code.test", fields("x")),
        Err(VaultError::Exists(_))
    ));
    vault.remove("code-host-user").expect("remove");
    assert!(matches!(
        vault.remove("code-host-user"),
        Err(VaultError::Unknown(_))
    ));
    assert!(vault.get("code-host-user").expect("open").is_none());
    let seed = BTreeMap::from([("totp".to_owned(), secret("not base32!"))]);
    assert!(matches!(
        vault.add("other", "http://code.test", seed),
        Err(VaultError::Totp(_))
    ));
    assert!(matches!(
        vault.add("Bad_Name", "http://code.test", fields("x")),
        Err(VaultError::BadName)
    ));
}

#[test]
fn r11_the_file_holds_no_value_in_any_form() {
    let home = Home::new();
    home.filled();
    let scrubber = Scrubber::new();
    scrubber.register("a", "password", &secret(CANARY), Kind::Password);
    for folder in ["data", "state", "config"] {
        for entry in std::fs::read_dir(home.0.path().join(folder)).expect("folder") {
            let bytes = std::fs::read(entry.expect("entry").path()).expect("file");
            assert!(!scrubber.contains_bytes(&bytes));
        }
    }
}

#[test]
fn r11_any_damage_fails_closed_and_says_nothing() {
    let home = Home::new();
    let vault = home.filled();
    let good = std::fs::read(&home.place().file).expect("file");
    let header = good
        .windows(4)
        .position(|w| w == b"\n---")
        .expect("end of header");
    let mac = header + 8;
    for at in [
        0,
        25,
        header - 3,
        mac,
        mac + 30,
        header + 60,
        good.len() - 1,
    ] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        private_file::replace(&home.place().file, &bad).expect("write");
        let error = vault.get("code-host-user").err().expect("refused");
        assert!(
            matches!(error, VaultError::Damaged(_) | VaultError::WrongKey(_)),
            "{at} {error}"
        );
        says(&error);
    }
    for length in [0, 10, header, good.len() - 20] {
        private_file::replace(&home.place().file, &good[..length]).expect("write");
        let error = vault.get("code-host-user").err().expect("refused");
        assert!(matches!(error, VaultError::Damaged(_)), "{length} {error}");
    }
}

#[test]
fn r11_a_wrong_key_fails_closed() {
    let home = Home::new();
    let vault = home.filled();
    let other = Home::new();
    other.filled();
    std::fs::copy(other.place().identity_file, home.place().identity_file).expect("swap");
    let error = vault.list().expect_err("refused");
    assert!(matches!(error, VaultError::WrongKey(_)), "{error}");
    says(&error);
    private_file::replace(&home.place().identity_file, b"nothing").expect("write");
    assert!(matches!(vault.list(), Err(VaultError::NoIdentity(_))));
}

#[test]
fn a_file_made_by_someone_with_the_public_key_only_is_refused() {
    let home = Home::new();
    let vault = home.filled();
    let Key::Identity(identity) = vault.unlock.key().expect("key") else {
        panic!("identity")
    };
    let body = Body::new("forged".into());
    let plain = body::render(&body, Zeroizing::new("not the identity".into()));
    let sealed = age::encrypt(&identity.to_public(), &plain).expect("encrypt");
    private_file::replace(&home.place().file, &sealed).expect("write");
    assert!(matches!(vault.list(), Err(VaultError::Forged(_))));
}

#[test]
fn an_older_copy_and_another_vault_draw_a_warning() {
    let home = Home::new();
    let vault = home.filled();
    let old = std::fs::read(&home.place().file).expect("file");
    vault
        .rotate("code-host-user", "password", &secret("NEW-value-1"))
        .expect("rotate");
    assert_eq!(vault.test().expect("opens"), None);
    private_file::replace(&home.place().file, &old).expect("write");
    assert!(
        vault
            .test()
            .expect("opens")
            .is_some_and(|w| w.contains("older copy"))
    );
    assert!(
        vault.test().expect("opens").is_some(),
        "still said the second time"
    );
    std::fs::remove_file(&home.place().file).expect("remove");
    let place = Place {
        state: home.0.path().join("elsewhere"),
        ..home.place()
    };
    let unlock = Unlock::IdentityFile(place.identity_file.clone());
    Vault::new(place, unlock).create().expect("another");
    assert!(
        vault
            .test()
            .expect("opens")
            .is_some_and(|w| w.contains("another one"))
    );
}

#[test]
fn open_files_and_links_are_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Home::new();
    let vault = home.filled();
    let file = home.place().file;
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).expect("mode");
    assert!(matches!(
        vault.list(),
        Err(VaultError::File(FileError::Open { .. }))
    ));
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("mode");
    let moved = home.0.path().join("moved.age");
    std::fs::rename(&file, &moved).expect("move");
    symlink(&moved, &file).expect("link");
    assert!(matches!(
        vault.list(),
        Err(VaultError::File(FileError::Link(_)))
    ));
    let key = home.place().identity_file;
    std::fs::remove_file(&file).expect("unlink");
    std::fs::rename(&moved, &file).expect("move");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o640)).expect("mode");
    assert!(matches!(
        vault.list(),
        Err(VaultError::Key(FileError::Open { .. }))
    ));
}

#[test]
fn r24_a_credential_of_another_kind_is_not_for_pages() {
    let home = Home::new();
    let vault = home.filled();
    vault
        .change(|body| {
            body.record("code-host-user").expect("there").kind = "ssh".into();
            Ok(())
        })
        .expect("change");
    assert!(matches!(
        vault.get("code-host-user"),
        Err(VaultError::NotForPages { .. })
    ));
}

#[test]
fn a_second_writer_is_told_to_wait() {
    let home = Home::new();
    let vault = home.filled();
    let lock = vault.lock().expect("lock");
    assert!(matches!(
        home.vault().remove("code-host-user"),
        Err(VaultError::Busy)
    ));
    drop(lock);
    home.vault().remove("code-host-user").expect("remove");
}

#[test]
fn a_passphrase_opens_and_a_wrong_one_does_not() {
    let home = Home::new();
    let with = |text: &str| Vault::new(home.place(), Unlock::Passphrase(secret(text)));
    with("correct horse").create().expect("create");
    assert!(with("correct horse").list().expect("opens").is_empty());
    assert!(home.vault().wants_passphrase().expect("header"));
    private_file::create(&home.place().identity_file, other_identity().as_bytes()).expect("key");
    assert!(matches!(home.vault().list(), Err(VaultError::WrongKey(_))));
    let error = with("wrong horse").list().expect_err("refused");
    assert!(matches!(error, VaultError::WrongKey(_)), "{error}");
}

#[test]
fn a_file_that_asks_for_endless_work_is_refused_at_once() {
    let home = Home::new();
    private_file::create(&home.place().file, b"age-encryption.org/v1\n-> scrypt bBjlhJVYZeE4aqUdmtRHfw 30\nZV/AhotwSGqaPCU43cepl4WYUouAa17a3xpu4G2yi5k\n--- fgMiVLJHMlg9fW7CVG/hPS5EAU4Zeg19LyCP7SoH5nA\n0000000000000000000000").expect("write");
    let vault = Vault::new(home.place(), Unlock::Passphrase(secret("x")));
    let error = vault.list().expect_err("refused");
    assert!(matches!(error, VaultError::TooMuchWork(_)), "{error}");
}

#[test]
fn the_key_may_come_from_a_command() {
    let home = Home::new();
    home.filled();
    let line = CommandLine::Arguments(vec![
        "cat".into(),
        home.place().identity_file.display().to_string(),
    ]);
    let vault = Vault::new(home.place(), Unlock::Command(line));
    assert_eq!(vault.list().expect("opens").len(), 1);
    let failing = Vault::new(
        home.place(),
        Unlock::Command(CommandLine::Shell("echo TILLER; false".into())),
    );
    says(&failing.list().expect_err("fails"));
}

#[test]
fn the_place_follows_the_environment() {
    let from = |set: &[(&str, &str)]| {
        let set: BTreeMap<String, PathBuf> =
            set.iter().map(|(k, v)| (k.to_string(), v.into())).collect();
        Place::from_environment(move |name| set.get(name).cloned())
    };
    let home = from(&[("HOME", "/h")]).expect("place");
    assert_eq!(home.file, Path::new("/h/.local/share/rehearsal/vault.age"));
    let set = from(&[
        ("HOME", "/h"),
        ("REHEARSAL_VAULT", "/v"),
        ("XDG_STATE_HOME", "/s"),
        ("XDG_DATA_HOME", ""),
    ]);
    let set = set.expect("place");
    assert_eq!((set.file, set.state), ("/v".into(), "/s/rehearsal".into()));
    assert_eq!(from(&[]), None);
}

fn other_identity() -> String {
    use age::secrecy::ExposeSecret;
    age::x25519::Identity::generate()
        .to_string()
        .expose_secret()
        .to_owned()
}
