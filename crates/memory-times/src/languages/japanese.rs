//! Japanese.

use crate::language::{Alone, Language, MORNING, NIGHT, NOON, Script, Slashes, part};
use crate::meaning::Unit;
use crate::terms::{Relation, Term};

pub const JAPANESE: Language = Language {
    script: Script::Ideographs,
    phrases: &[DAYS, PERIODS, NAMES, CONNECTIONS, OTHERS],
    slashes: Slashes::Unclear,
    has_dotted_dates: false,
    has_month_before_day: false,
    weekday_alone: Alone::WithPart,
    has_weekdays_by_week: false,
    has_years_alone: false,
    joins_parts: false,
    has_compounds_of_words: false,
    of_opens_ranges: false,
    has_kana: true,
};

const DAYS: &[(Term, &str)] = &[
    (Term::Day(0), "今日|本日"),
    (Term::Day(-1), "昨日|きのう"),
    (Term::Day(-2), "一昨日|おととい"),
    (Term::Day(-3), "一昨々日|さきおととい"),
    (Term::Day(1), "明日|あした"),
    (Term::Day(2), "明後日|あさって"),
    (Term::DayPart(0, MORNING), "今朝|けさ"),
    (Term::DayPart(0, NIGHT), "今晩|今夜"),
    (Term::DayPart(-1, NIGHT), "昨夜|昨晩|ゆうべ|夕べ"),
    (Term::DayPart(-2, NIGHT), "一昨日の夜|一昨夜"),
    (Term::Part(part(0, 6)), "未明|明け方"),
    (Term::Part(MORNING), "朝|早朝"),
    (Term::Part(part(0, 12)), "午前|午前中"),
    (Term::Part(NOON), "昼|お昼|正午"),
    (Term::Part(part(12, 24)), "午後"),
    (Term::Part(part(15, 19)), "夕方"),
    (Term::Part(NIGHT), "夜|晩"),
    (Term::Part(part(22, 29)), "深夜|夜中"),
];

const PERIODS: &[(Term, &str)] = &[
    (Term::Period(Unit::Week, -2), "先々週|先先週"),
    (Term::Period(Unit::Week, -1), "先週"),
    (Term::Period(Unit::Week, 0), "今週"),
    (Term::Period(Unit::Week, 1), "来週"),
    (Term::Period(Unit::Week, 2), "再来週"),
    (Term::Period(Unit::Weekend, -2), "先々週末|先々週の週末"),
    (Term::Period(Unit::Weekend, -1), "先週末|先週の週末"),
    (Term::Period(Unit::Weekend, 0), "今週末|今週の週末"),
    (Term::Period(Unit::Weekend, 1), "来週末|来週の週末"),
    (Term::Period(Unit::Month, -2), "先々月|先先月"),
    (Term::Period(Unit::Month, -1), "先月"),
    (Term::Period(Unit::Month, 0), "今月"),
    (Term::Period(Unit::Month, 1), "来月"),
    (Term::Period(Unit::Month, 2), "再来月"),
    (Term::Period(Unit::Quarter, -1), "前四半期|先四半期"),
    (Term::Period(Unit::Quarter, 0), "今四半期|この四半期"),
    (Term::Period(Unit::Quarter, 1), "来四半期"),
    (Term::Period(Unit::Year, -2), "一昨年|おととし"),
    (Term::Period(Unit::Year, -1), "去年|昨年"),
    (Term::Period(Unit::Year, 0), "今年|ことし|本年"),
    (Term::Period(Unit::Year, 1), "来年"),
    (Term::Period(Unit::Year, 2), "再来年"),
    (Term::SomeWeekend, "週末に|週末は|週末の"),
    (Term::Step(-1), "この前の|こないだの|この間の"),
    (Term::Step(0), "この"),
    (Term::Step(1), "次の|今度の"),
    (Term::RollingMany, "過去|直近|ここ|最近|直近の|過去の"),
    (Term::Unit(Unit::Minute), "分|分間"),
    (Term::Unit(Unit::Hour), "時間"),
    (Term::Unit(Unit::Day), "日間"),
    (Term::Unit(Unit::Week), "週間"),
    (
        Term::Unit(Unit::Month),
        "ヶ月|か月|カ月|ケ月|箇月|ヵ月|ヶ月間|か月間|カ月間",
    ),
    (Term::Unit(Unit::Year), "年間"),
];

const NAMES: &[(Term, &str)] = &[
    (Term::Weekday(1), "月曜日|月曜"),
    (Term::Weekday(2), "火曜日|火曜"),
    (Term::Weekday(3), "水曜日|水曜"),
    (Term::Weekday(4), "木曜日|木曜"),
    (Term::Weekday(5), "金曜日|金曜"),
    (Term::Weekday(6), "土曜日|土曜"),
    (Term::Weekday(7), "日曜日|日曜"),
    (Term::YearMark, "年"),
    (Term::MonthMark, "月"),
    (Term::DayMark, "日"),
];

const CONNECTIONS: &[(Term, &str)] = &[
    (
        Term::RelationAfter(Relation::BeforeOrAgo),
        "前|まえ|より前|よりも前",
    ),
    (Term::RelationAfter(Relation::After), "より後|よりも後"),
    (Term::RelationAfter(Relation::Since), "から|以来|以降"),
    (
        Term::RelationAfter(Relation::Until),
        "まで|までに|までの|の間|以前",
    ),
    (Term::To, "~"),
    (Term::And, "と"),
    (Term::Misleads, "バージョン|第"),
    (
        Term::AnchorAfter,
        "に|の|中|頃|ごろ|には|にも|中に|における|上旬|中旬|下旬|初め|末",
    ),
    (Term::Excludes, "毎週|毎|毎週の|毎年|毎月|各"),
    // The end of a verb: "寝る3時間前" is not before now.
    (Term::Inexact, "る|う|く|す|つ|ぬ|む|ぶ|ぐ|た|以上"),
];

const OTHERS: &[(Term, &str)] = &[
    (
        Term::Never,
        "昨年度|今年度|来年度|去年度|前年度|明日香|明日菜|明日葉|明日美|今日子|日本|日常|日記|日付|曜日|年齢|年度|年版|年代|年式|年生まれ|年生|月謝|月額|月刊|月号|月経|前回|前半|前提|前者|前後|名前|午前様|手前|出前|当日|先日|毎日|毎朝|毎晩|平日|祝日|休日|誕生日|日に日に|中国|中心|中止|中学|の中|いつの間|この間|朝食|朝会|昼食|夜食|夜勤|夕食|昼休み|人前|一番|第一|一緒|一度|一日中|の末",
    ),
    (
        Term::NotPast,
        "予定|つもり|でしょう|だろう|いつも|普段|通常|たいてい|ましょう|たいです|すべき|しなければ|べき|リマインド|思い出させて|毎回",
    ),
    (
        Term::Ordinary,
        "私|僕|俺|何|話|言|会議|誰|彼|彼女|聞|食|行|見|書|教|時|人|事|どこ|なに|について|こと|した|ました|ですか",
    ),
];
