use super::*;

fn languages() -> Vec<Words> {
    Words::built_in().expect("lexicons")
}

fn taken(text: &str) -> Taken {
    take(text, &languages()).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn record(text: &str) -> (String, String, Option<String>, String) {
    let handed = taken(text)
        .credential
        .unwrap_or_else(|| panic!("no credential in {text}"));
    (
        handed.name,
        handed.origin,
        handed.username.map(|u| u.expose().to_owned()),
        handed.password.expose().to_owned(),
    )
}

#[test]
fn r14_both_ways_of_saying_it_give_the_same_record() {
    let one = record("credentials for telepass.com, user alice77, password s3cr3t-Canary");
    let other = record("remember telepass.com credentials usr:alice77, pwd:s3cr3t-Canary");
    assert_eq!(one, other);
    let wanted = (
        "telepass-user".to_owned(),
        "https://telepass.com".to_owned(),
        Some("alice77".to_owned()),
        "s3cr3t-Canary".to_owned(),
    );
    assert_eq!(one, wanted);
    // As the promise words it, with values that are plain words.
    let plain = record("credentials for telepass.com, user xxxxx, password yyyyy");
    assert_eq!(
        (plain.2.as_deref(), plain.3.as_str()),
        (Some("xxxxx"), "yyyyy")
    );
}

#[test]
fn r14_everyday_wordings_give_the_same_record() {
    for text in [
        "sign in at shop.test with user bob7 and password Zebra-99x, then list my orders",
        "log in to https://shop.test/ as bob7 with the password \"Zebra-99x\" and list my orders",
        "Log in to shop.test as bob7 using password Zebra-99x. List my orders.",
        "shop.test login bob7 pass Zebra-99x",
        "my shop.test credentials are bob7/Zebra-99x",
        "My credentials for shop.test are bob7:Zebra-99x. List my orders.",
        "Use bob7:Zebra-99x on shop.test and list my orders",
        "shop.test - Username - bob7, Password - Zebra-99x",
        "accedi a shop.test con utente bob7 e password Zebra-99x",
        "accedi a shop.test come bob7 con la password Zebra-99x, poi elenca gli ordini",
        "La mia password per shop.test è Zebra-99x e l'utente è bob7",
        "Su shop.test il nome utente è bob7 e la parola d'ordine è Zebra-99x. Elenca gli ordini.",
        "le credenziali di shop.test sono bob7/Zebra-99x",
        "On shop.test the user is bob7 and the password is Zebra-99x; list orders",
        "shop.test password=Zebra-99x user=bob7",
        "Sign in at shop.test (username: bob7 / password: Zebra-99x) and list orders",
        "shop.test user/password: bob7/Zebra-99x",
        "shop.test username and password: bob7 and Zebra-99x.",
        "shop.test\nUsername: bob7\nPassword: Zebra-99x\n",
        "shop.test\nUSER = bob7\nPASSWORD = Zebra-99x\n\nList my orders",
        "My password for shop.test is Zebra-99x and my login is bob7; write a page",
        "password (for shop.test): Zebra-99x, user: bob7",
        "credentials for shop.test: user bob7, password “Zebra-99x”",
        "**shop.test** user `bob7` password `Zebra-99x`",
    ] {
        let (name, origin, user, password) = record(text);
        assert_eq!(
            (
                name.as_str(),
                origin.as_str(),
                user.as_deref(),
                password.as_str()
            ),
            ("shop-user", "https://shop.test", Some("bob7"), "Zebra-99x"),
            "{text}"
        );
        let rest = taken(text).text;
        assert!(
            !rest.contains("Zebra") && !rest.contains("bob7"),
            "{text}: {rest}"
        );
    }
}

#[test]
fn what_is_wanted_stays_as_it_was_said() {
    for (text, rest) in [
        (
            "sign in at shop.test with user bob7 and password Zebra-99x, then list my orders",
            "sign in at shop.test, then list my orders",
        ),
        (
            "My password for notes.test is S3cret-Zebra-99 and my login is bob@x.test; write a page",
            "write a page",
        ),
        (
            "Download the last invoice from a.test. user: bob7 password: Zebra-99x",
            "Download the last invoice from a.test.",
        ),
        (
            "credentials for a.test, user bob7, password Zebra-99x. Then open order PX-1007.",
            "Then open order PX-1007.",
        ),
        (
            "log in to a.test as bob7 with the password \"Zebra-99x\" and list orders",
            "log in to a.test and list orders",
        ),
        (
            "accedi a a.test con utente bob7 e password Zebra-99x",
            "accedi a a.test",
        ),
    ] {
        assert_eq!(taken(text).text, rest, "{text}");
    }
}

#[test]
fn r15_another_language_is_another_file() {
    let italian = "credenziali per telepass.com, utente alice77, password s3cr3t-Canary";
    assert_eq!(record(italian).3, "s3cr3t-Canary");
    assert_eq!(
        record("ricorda telepass.com credenziali nome utente: alice77, psw=s3cr3t-Canary")
            .2
            .as_deref(),
        Some("alice77")
    );
    // One nobody built in.
    let german = Words::read("of: [Zugangsdaten]\nuser: [Benutzer]\npassword: [Kennwort]\nis: [ist]\nhand: [merke]\nfor: [für]\n").expect("words");
    let taken = take(
        "Zugangsdaten für post.de, Benutzer otto9, Kennwort geheim-Canary. Lies die Briefe.",
        &[german],
    );
    let taken = taken.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(taken.text, "Lies die Briefe.");
}

#[test]
fn r13_nothing_of_the_values_is_left_in_the_text() {
    for text in [
        "credentials for telepass.com, user alice77, password s3cr3t-Canary. Then download the last invoice; my password s3cr3t-Canary works.",
        "Download the last invoice from telepass.com. user: alice77 password: \"s3cr3t-Canary\"",
        "On telepass.com my username is alice77 and the password is s3cr3t-Canary, show alice77's invoices",
        "telepass.com, user alice77, password \"s3cr3t blank Canary\". Show the invoices",
    ] {
        let taken = taken(text);
        assert!(taken.credential.is_some(), "{text}");
        assert!(
            !taken.text.contains("Canary") && !taken.text.contains("alice77"),
            "{}",
            taken.text
        );
        assert!(taken.text.contains("invoice"), "{}", taken.text);
    }
}

/// Whatever is said, a value is taken out or the text is refused; it never goes on.
#[test]
fn r13_a_secret_that_cannot_be_taken_is_refused_and_never_passed_on() {
    let languages = languages();
    for text in [
        "user: alice77, password: Zebra-99x",
        "a.test password: one-Zebra password: two-Zebra",
        "a.test password is correct horse Zebra staple, then list",
        "a.test password correct horse Zebra",
        "a.test user bob7 password Zebra-99x horse, list orders",
        "a.test user bob7, password \"Zebra 99",
        "the otp secret for a.test is JBSWY3DPZEBRA, user bob7, password Zebra-99x",
        "sign in at a.test; the pin is 4711Zebra",
        "my one-time code on a.test: 471188Zebra",
        "il pin di a.test è 4711Zebra",
        "api key Zebra99xyz for a.test",
        "Zebra-99x is my password on a.test",
        "Zebra is my password on a.test",
        "use Zebra as the password on a.test",
        "log in with Zebra-99x as password at a.test",
        "Forgot the password. It was Zebra-99x. Open a.test",
        "a.test password follows\n\nZebra-99x",
        "https://bob7:Zebra-99x@a.test/ list my orders",
        "open bob7:Zebra-99x@a.test",
        "open https://a.test/?user=bob&password=Zebra",
        "open a.test/login?access_token=Zebra99",
        "open https://a.test/#token=Zebra99",
        "db_password=Zebra on a.test",
        "mypassword: Zebra on a.test",
        "open a.test with password-Zebra-99x",
        "credentials a.test bob7 Zebra-99x",
        "credentials for a.test: bob Zebra",
        "a.test password zebra.Zebra",
        "username, password: bob Zebra on a.test",
        "a.test pw Zebra list",
        "bob7:Zebra-99x a.test",
        "la password di a.test Zebra-99x",
        "la password che uso su a.test è Zebra-99x ma non sempre",
        "passwords: Zebra1 and Zebra2 on a.test",
        "Password\n  Zebra-99x\nUser\n  bob7\nfor a.test and b.test",
        "a.test and b.test, user bob7, password Zebra-99x",
        "a.test user bob7 password: Zebra-99x, backup Zebra-100y",
    ] {
        match take(text, &languages) {
            Err(error) => assert!(!error.to_string().contains("Zebra"), "{text}"),
            Ok(taken) => {
                let site = taken.site.unwrap_or_default();
                assert!(!taken.text.contains("Zebra"), "{text}: {}", taken.text);
                assert!(!site.contains("Zebra"), "{text}: {site}");
                assert!(taken.credential.is_some(), "{text} lost its secret");
            }
        }
    }
}

#[test]
fn a_text_that_only_speaks_of_passwords_is_left_alone() {
    for text in [
        "Check that http://shop.test/login says password forgotten",
        "Open shop.test and check that the password field is empty",
        "On shop.test reset my password and check the mail",
        "Sign in at shop.test with the stored credentials and open order PX",
        "Use the saved password for shop.test, then list the orders",
        "Check that shop.test asks for a password",
        "Apri shop.test e controlla che il campo password sia visibile",
        "Su shop.test la password è obbligatoria",
        "Buy a day pass for zone A1 on ferry.test",
        "Drop a pin on the map of maps.test at 12:30 and open owner7/repo-2",
        "On shop.test open order A-1007 and read the total",
        "Open shop.test:8080 at 12:30 and check $(run.id)",
    ] {
        let taken = taken(text);
        assert!(taken.credential.is_none(), "{text}");
        assert_eq!(taken.text, text);
    }
}

#[test]
fn the_scheme_that_is_written_counts_and_the_site_beside_the_values() {
    let taken_one = taken(
        "Credentials for parcels.test: user bob7, password Zebra-99x. Open http://parcels.test/ and look at order 1007",
    );
    let handed = taken_one.credential.expect("a credential");
    assert_eq!(handed.origin, "http://parcels.test");
    assert_eq!(taken_one.site.as_deref(), Some("http://parcels.test/"));
    let taken_two =
        taken("Open docs.test and read. Credentials for shop.test: user bob7, password Zebra-99x.");
    let handed = taken_two.credential.expect("a credential");
    assert_eq!(handed.origin, "https://shop.test");
    assert_eq!(taken_two.site.as_deref(), Some("https://docs.test/"));
}
