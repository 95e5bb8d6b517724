//! Approving, comparing, and what survives a round trip.

use std::path::Path;

use image::{ImageFormat, Rgb, RgbImage};
use proptest::prelude::*;

use super::*;
use crate::scenario::Pattern;

fn suite() -> tempfile::TempDir {
    tempfile::tempdir().expect("folder")
}

fn regex(pattern: &str) -> Pattern {
    Pattern::Regex(pattern.into())
}

/// A folder of pictures as a run writes it.
fn pictures(folder: &Path, names: &[&str]) {
    std::fs::create_dir_all(folder).expect("folder");
    for name in names {
        let mut png = std::io::Cursor::new(Vec::new());
        let shade = name.len() as u8;
        RgbImage::from_pixel(8, 8, Rgb([shade; 3]))
            .write_to(&mut png, ImageFormat::Png)
            .expect("png");
        let png = png.into_inner();
        let record = PictureRecord {
            format: RECORD_FORMAT,
            source: "00".into(),
            picture: crate::store::frames::full_hash(&png),
            width: 8,
            height: 8,
            covered: vec![CoveredArea {
                rect: [0, 0, 4, 4],
                reason: "password field".into(),
            }],
        };
        std::fs::write(folder.join(format!("{name}.png")), &png).expect("write");
        std::fs::write(
            folder.join(format!("{name}.json")),
            serde_json::to_vec(&record).expect("json"),
        )
        .expect("write");
    }
}

const ID: &str = "code-host/add-readme";
const TEXT: &str = "# A\n\n![one](pictures/01-one.png)\n";

#[test]
fn case_096_a_missing_approval_is_pending_and_nothing_approved_is_made() {
    let root = suite();
    assert_eq!(
        compare(Kind::Tutorial, None, "# A\n", &[]),
        Compared::Missing
    );
    propose_tutorial(root.path(), ID, "# A\n", None).expect("proposed");
    assert_eq!(
        Approved::read(root.path(), ID).expect("read"),
        Approved::default()
    );
    assert_eq!(
        pending(root.path()),
        [Item {
            id: ID.into(),
            kind: Kind::Tutorial
        }]
    );
}

#[test]
fn case_092_line_ends_and_trailing_blank_lines_make_no_difference() {
    assert_eq!(
        compare(
            Kind::Tutorial,
            Some("# A\r\n\r\ntext  \r\n\r\n"),
            "# A\n\ntext\n",
            &[]
        ),
        Compared::Same
    );
    let root = suite();
    let path = Kind::Tutorial.approved_path(root.path(), ID);
    std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
    std::fs::write(&path, "# A\r\n").expect("write");
    assert_eq!(
        Approved::read(root.path(), ID)
            .expect("read")
            .tutorial
            .as_deref(),
        Some("# A\n")
    );
}

#[test]
fn case_089_volatile_text_needs_no_new_approval_and_idle_patterns_are_found() {
    let volatile = [
        regex(r"\d+ minutes ago"),
        Pattern::Literal("run-7f3a".into()),
        regex("never there"),
    ];
    let (then, now) = (
        "Saved 3 minutes ago in run-7f3a.\n",
        "Saved 12 minutes ago in run-7f3a.\n",
    );
    let compare = |volatile| compare(Kind::Tutorial, Some(then), now, volatile);
    assert_eq!(compare(&volatile), Compared::Same);
    assert_ne!(compare(&[]), Compared::Same);
    assert_eq!(idle(Kind::Tutorial, &[now], &volatile), [&volatile[2]]);
    assert_eq!(
        idle(Kind::Tutorial, &["Saved.\n", then], &volatile),
        [&volatile[2]],
        "what was approved counts too"
    );
}

#[test]
fn case_089_patterns_meet_the_text_of_names_not_its_escapes_or_file_names() {
    let step = |name: &str, slug: &str| {
        format!("# A\n\n## 1. Click **{name}**\n\n![Click {name}](pictures/01-click-{slug}.png)\n")
    };
    for (volatile, then, now) in [
        (
            vec![regex(r"T-\d+"), regex(r"\d\d:\d\d")],
            step("Ticket T-4425 at 15:47", "ticket-t-4425-at-15-47"),
            step("Ticket T-52 at 15:50", "ticket-t-52-at-15-50"),
        ),
        (
            vec![regex(r"\[\d+\]")],
            step(r"Refresh \[6700\]", "refresh-6700"),
            step(r"Refresh \[12\]", "refresh-12"),
        ),
        (
            vec![Pattern::Literal("<a@b> & c_d".into())],
            step(r"&lt;a&#64;b&gt; &amp; c\_d", "a-b-c-d"),
            step(r"&lt;a&#64;b&gt; &amp; c\_d", "other"),
        ),
    ] {
        let compare = |volatile| compare(Kind::Tutorial, Some(&then), &now, volatile);
        assert_eq!(compare(&volatile), Compared::Same, "{now}");
        assert!(idle(Kind::Tutorial, &[&now], &volatile).is_empty(), "{now}");
    }
    let with = step("Save", "save");
    let without = "# A\n\n## 1. Click **Save**\n";
    assert_ne!(
        compare(Kind::Tutorial, Some(&with), without, &[]),
        Compared::Same,
        "a picture that is gone is a change"
    );
}

#[test]
fn case_097_the_order_of_patterns_has_no_influence() {
    let mut patterns = vec![
        regex(r"\d+"),
        regex(r"order \d+"),
        Pattern::Literal("order 12".into()),
        Pattern::Literal("order".into()),
    ];
    let text = "order 12, order 7 and 99\n";
    let normalise = |patterns: &[Pattern]| compared_form(Kind::Tutorial, text, patterns);
    let wanted = normalise(&patterns);
    for _ in 0..patterns.len() {
        patterns.rotate_left(1);
        assert_eq!(normalise(&patterns), wanted);
    }
    patterns.reverse();
    assert_eq!(normalise(&patterns), wanted);
}

#[test]
fn case_095_the_diff_has_the_change_alone_and_shows_what_nobody_sees() {
    let long: String = (0..300)
        .map(|n| format!("Line {n}, {n} minutes ago\n"))
        .collect();
    let now = long
        .replace("Line 150,", "Line\u{a0}150,")
        .replace(" 7 minutes ago", " 8 minutes ago");
    let volatile = [regex(r"\d+ minutes ago")];
    let Compared::Differs { diff } = compare(Kind::Tutorial, Some(&long), &now, &volatile) else {
        panic!("differs")
    };
    let changed: Vec<&str> = diff
        .lines()
        .skip(2)
        .filter(|l| l.starts_with(['+', '-']))
        .collect();
    assert_eq!(
        changed,
        ["-Line 150, ‹…›", "+Line‹U+00A0›150, ‹…›"],
        "{diff}"
    );
}

#[test]
fn case_094_a_name_that_matches_nothing_is_an_error_with_a_near_name() {
    let root = suite();
    propose(root.path(), ID, Kind::Steps, "format: 1\n").expect("proposed");
    let error = accept(root.path(), &["code-host/add-readmee".into()])
        .expect_err("refused")
        .to_string();
    assert!(
        error.contains("did you mean `code-host/add-readme`"),
        "{error}"
    );
    assert_eq!(pending(root.path()).len(), 1, "nothing was taken over");
    propose(root.path(), ID, Kind::Tutorial, "# A\n").expect("proposed");
    let error = accept(root.path(), &["zzz".into()]).expect_err("refused");
    assert!(
        error.to_string().ends_with("pending: code-host/add-readme"),
        "listed once: {error}"
    );
    reject(
        root.path(),
        &Item {
            id: ID.into(),
            kind: Kind::Tutorial,
        },
    )
    .expect("rejected");
    let taken = accept(root.path(), &[ID.into()]).expect("accepted");
    assert_eq!(
        taken.iter().map(|a| a.item.id.as_str()).collect::<Vec<_>>(),
        [ID]
    );
    assert!(
        accept(root.path(), &[ID.into()]).is_err(),
        "nothing is left"
    );
}

#[test]
fn case_093_orphans_are_listed_and_removed_and_pending_files_ignored() {
    let (root, run) = (suite(), suite());
    pictures(run.path(), &["01-one"]);
    propose_tutorial(root.path(), ID, TEXT, Some(run.path())).expect("proposed");
    accept(root.path(), &[]).expect("accepted");
    propose_tutorial(root.path(), "kept", "# K\n", None).expect("proposed");
    let lost = orphans(root.path(), &["kept"]);
    assert_eq!(lost.len(), 2, "{lost:?}");
    assert!(orphans(root.path(), &["kept", ID]).is_empty());
    remove_orphans(root.path(), &["kept"]).expect("removed");
    assert!(!root.path().join("snapshots/code-host").exists());
    assert!(root.path().join("snapshots/kept/tutorial.md.new").is_file());
    assert!(ignore_pending(root.path()).expect("written"));
    assert!(
        !ignore_pending(root.path()).expect("there"),
        "once is enough"
    );
    let ignored = std::fs::read_to_string(root.path().join(".gitignore")).expect("read");
    assert!(ignored.lines().any(|l| l == "*.new"), "{ignored}");
}

#[test]
fn accepting_takes_pictures_and_records_over() {
    let (root, run) = (suite(), suite());
    pictures(run.path(), &["01-one"]);
    propose_tutorial(root.path(), ID, TEXT, Some(run.path())).expect("proposed");
    assert!(
        !root
            .path()
            .join("snapshots")
            .join(ID)
            .join("pictures")
            .exists()
    );
    accept(root.path(), &[]).expect("accepted");
    let folder = root.path().join("snapshots").join(ID);
    assert_eq!(
        verify_records(&folder.join("pictures")).expect("records"),
        1
    );
    let second = suite();
    pictures(second.path(), &["01-other"]);
    propose_tutorial(
        root.path(),
        ID,
        "![o](pictures/01-other.png)\n",
        Some(second.path()),
    )
    .expect("proposed");
    accept(root.path(), &[]).expect("accepted");
    let mut left: Vec<_> = std::fs::read_dir(folder.join("pictures"))
        .expect("list")
        .flatten()
        .map(|e| e.file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["01-other.json", "01-other.png"]);
    assert!(!folder.join("pictures.new").exists() && !folder.join("pictures.old.new").exists());
}

#[test]
fn a_picture_that_does_not_fit_its_record_is_not_taken_over() {
    let (root, run) = (suite(), suite());
    pictures(run.path(), &["01-one"]);
    propose_tutorial(root.path(), ID, TEXT, Some(run.path())).expect("proposed");
    let picture = root
        .path()
        .join("snapshots")
        .join(ID)
        .join("pictures.new/01-one.png");
    std::fs::write(&picture, b"other").expect("write");
    assert!(matches!(
        accept(root.path(), &[]),
        Err(SnapshotError::Record(RecordError::Changed { .. }))
    ));
    std::fs::remove_file(picture.with_extension("json")).expect("remove");
    assert!(matches!(
        accept(root.path(), &[]),
        Err(SnapshotError::Record(RecordError::NoRecord { .. }))
    ));
    assert_eq!(
        Approved::read(root.path(), ID).expect("read"),
        Approved::default(),
        "nothing was taken over"
    );
    pictures(run.path(), &["02-two"]);
    std::fs::remove_file(run.path().join("01-one.png")).expect("remove");
    std::fs::remove_file(run.path().join("01-one.json")).expect("remove");
    propose_tutorial(root.path(), ID, TEXT, Some(run.path())).expect("proposed");
    assert!(matches!(
        accept(root.path(), &[]),
        Err(SnapshotError::NoPicture { .. })
    ));
}

#[test]
fn case_086_a_known_value_in_any_file_stops_the_approval_before_anything_moves() {
    let (root, run) = (suite(), suite());
    pictures(run.path(), &["01-one"]);
    propose(root.path(), "a", Kind::Steps, "format: 1\n").expect("proposed");
    propose_tutorial(root.path(), ID, TEXT, Some(run.path())).expect("proposed");
    let looks_at_records = |path: &Path, _: &[u8]| {
        if path.ends_with("01-one.json") {
            Err("holds a known value".to_owned())
        } else {
            Ok(())
        }
    };
    assert!(matches!(
        accept_checked(root.path(), &[], None, &looks_at_records),
        Err(SnapshotError::Refused { .. })
    ));
    assert_eq!(pending(root.path()).len(), 2);
    assert_eq!(
        accept_checked(root.path(), &[], Some(Kind::Steps), &looks_at_records)
            .expect("accepted")
            .len(),
        1
    );
}

#[test]
fn review_shows_text_and_pictures_and_rejecting_leaves_what_is_approved() {
    let (root, run, second) = (suite(), suite(), suite());
    pictures(run.path(), &["01-one", "02-same"]);
    propose_tutorial(root.path(), ID, TEXT, Some(run.path())).expect("proposed");
    let items = || super::items(root.path(), pending(root.path()), &|_| Vec::new());
    let first = items().expect("items");
    assert!(first[0].diff.contains("+# A"), "{}", first[0].diff);
    accept(root.path(), &[]).expect("accepted");
    pictures(second.path(), &["02-same", "03-three"]);
    propose_tutorial(root.path(), ID, "# B\n", Some(second.path())).expect("proposed");
    let [item] = &items().expect("items")[..] else {
        panic!("one item")
    };
    assert!(
        item.diff.contains("-# A") && item.diff.contains("+# B"),
        "{}",
        item.diff
    );
    assert_eq!(
        names(item),
        [(Some("01-one.png"), None), (None, Some("03-three.png"))],
        "equal ones are left out"
    );
    reject(root.path(), &item.item()).expect("rejected");
    assert!(pending(root.path()).is_empty());
    assert!(
        !root
            .path()
            .join("snapshots")
            .join(ID)
            .join("pictures.new")
            .exists()
    );
    assert_eq!(
        Approved::read(root.path(), ID)
            .expect("read")
            .tutorial
            .as_deref(),
        Some(TEXT)
    );
    assert!(reject(root.path(), &item.item()).is_err());
}

fn names(item: &ReviewItem) -> Vec<(Option<&str>, Option<&str>)> {
    fn name(path: &Option<std::path::PathBuf>) -> Option<&str> {
        path.as_ref()?.file_name()?.to_str()
    }
    item.pictures
        .iter()
        .map(|change| (name(&change.approved), name(&change.pending)))
        .collect()
}

#[test]
fn case_095_a_renamed_control_is_one_changed_line_and_its_pictures_stand_side_by_side() {
    let (root, run, second) = (suite(), suite(), suite());
    let text = |ticket: &str, save: &str| {
        format!(
            "# A\n\n## 1. Click **Ticket {ticket}**\n\n![Click Ticket {ticket}](pictures/01-click-ticket-{ticket}.png)\n\n\
             ## 2. Click **{save}**\n\n![Click {save}](pictures/02-{save}.png)\n"
        )
    };
    pictures(run.path(), &["01-click-ticket-1", "02-Save"]);
    propose_tutorial(root.path(), ID, &text("1", "Save"), Some(run.path())).expect("proposed");
    accept(root.path(), &[]).expect("accepted");
    pictures(second.path(), &["01-click-ticket-22", "02-Keep"]);
    propose_tutorial(root.path(), ID, &text("22", "Keep"), Some(second.path())).expect("proposed");
    let volatile = |id: &str| match id {
        ID => vec![regex(r"Ticket \d+")],
        _ => Vec::new(),
    };
    let items = super::items(root.path(), pending(root.path()), &volatile).expect("items");
    let changed: Vec<&str> = items[0]
        .diff
        .lines()
        .skip(2)
        .filter(|l| l.starts_with(['+', '-']))
        .collect();
    assert_eq!(changed, ["-## 2. Click **Save**", "+## 2. Click **Keep**"]);
    assert_eq!(
        names(&items[0])[0],
        (
            Some("01-click-ticket-1.png"),
            Some("01-click-ticket-22.png")
        )
    );
}

#[test]
fn a_lock_of_another_format_or_with_unknown_keys_is_refused() {
    for text in [
        "format: 9\n",
        "format: 1\nextra: 1\n",
        "- a\n",
        "format: 1\nsteps: [ { step: x } ]\n",
    ] {
        assert!(Lock::parse(text).is_err(), "{text}");
    }
}

#[test]
fn case_090_pictures_compare_with_tolerance_and_without_masks() {
    let page = |button: u32, shade: u8| {
        let image = RgbImage::from_fn(200, 120, |x, y| {
            let on = (button..button + 60).contains(&x) && (40..70).contains(&y);
            Rgb(if on { [30, 90, 200] } else { [shade; 3] })
        });
        let mut png = std::io::Cursor::new(Vec::new());
        image.write_to(&mut png, ImageFormat::Png).expect("png");
        png.into_inner()
    };
    let like =
        |a: &[u8], b: &[u8], masks: &[[i32; 4]]| picture::compare(a, b, masks).expect("pictures");
    assert!(
        like(&page(20, 250), &page(20, 248), &[]).within(0.0),
        "smoothing and shades"
    );
    assert!(
        like(&page(20, 250), &page(21, 250), &[]).within(0.0),
        "one pixel aside"
    );
    assert!(
        !like(&page(20, 250), &page(60, 250), &[]).within(0.05),
        "a moved button"
    );
    assert!(
        like(&page(20, 250), &page(60, 250), &[[10, 30, 120, 50]]).within(0.0),
        "under a mask"
    );
    assert!(picture::compare(b"no picture", &page(20, 250), &[]).is_err());
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,20}",
        Just("no".to_owned()),
        Just("~".to_owned()),
        Just("0123".to_owned()),
        Just("- a: b # c".to_owned()),
        Just("{ x: [y] }".to_owned()),
        Just("*alias &anchor !!tag".to_owned()),
        Just("/\\d+ (minutes|hours)/".to_owned()),
        Just("a\nb\r\n\tc\u{85}\u{2028}\u{7}\u{feff}".to_owned()),
        Just("\"quoted\" 'and' \\back".to_owned()),
        Just("${{ x }} $(run.id)".to_owned()),
        Just("---".to_owned()),
        Just("\u{1f600} \u{202e}".to_owned()),
    ]
}

fn any_entry() -> impl Strategy<Value = LockEntry> {
    let value = prop_oneof![
        Just(None),
        any_text().prop_map(|t| Some(LockValue::Variable(t))),
        any_text().prop_map(|t| Some(LockValue::Credential(t))),
        any_text().prop_map(|t| Some(LockValue::GoalText(t))),
        any_text().prop_map(|t| Some(LockValue::Option(t))),
        any_text().prop_map(|t| Some(LockValue::Address(t))),
    ];
    let names = (
        any_text(),
        proptest::option::of(any_text()),
        proptest::option::of(any_text()),
        proptest::option::of(any_text()),
    );
    (
        names,
        proptest::collection::vec(any_text(), 0..3),
        value,
        1_u32..4,
        proptest::option::of(0_u32..=100),
    )
        .prop_map(
            |((step, flow, role, name), within, value, occurrence, score)| LockEntry {
                step,
                flow,
                occurrence,
                action: "click".into(),
                role,
                name,
                within,
                nth: (occurrence > 2).then_some(2),
                value,
                chosen: "near".into(),
                score: score.map(|s| f64::from(s) / 100.0),
                margin: None,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn a_lock_survives_the_round_trip_whatever_the_names(
        steps in proptest::collection::vec(any_entry(), 0..4),
        goals in proptest::collection::vec((any_text(), any_text(), proptest::collection::vec(any_entry(), 1..3)), 0..3),
    ) {
        let goals = goals.into_iter().map(|(goal, digest, steps)| LockedGoal { goal, digest, steps }).collect();
        let lock = Lock { format: LOCK_FORMAT, steps, goals };
        let text = lock.render("id");
        prop_assert_eq!(Lock::parse(&text).map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?, lock);
    }

    #[test]
    fn the_compared_form_is_its_own_compared_form(text in "(\\PC|\r|\n){0,60}") {
        let once = compared_form(Kind::Steps, &text, &[]);
        prop_assert_eq!(compared_form(Kind::Steps, &once, &[]), once);
    }
}
