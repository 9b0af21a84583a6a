//! Chinese, in simplified and traditional characters.

use crate::language::{
    AFTERNOON, Alone, FORENOON, Language, MORNING, NIGHT, NOON, Script, Slashes, part,
};
use crate::meaning::Unit;
use crate::terms::{Relation, Term};

pub const CHINESE: Language = Language {
    script: Script::Ideographs,
    phrases: &[DAYS, PERIODS, NAMES, CONNECTIONS, OTHERS],
    slashes: Slashes::Unclear,
    has_dotted_dates: false,
    has_month_before_day: false,
    weekday_alone: Alone::Always,
    has_weekdays_by_week: true,
    has_years_alone: false,
    joins_parts: false,
    has_compounds_of_words: false,
    of_opens_ranges: false,
    has_kana: false,
};

const DAYS: &[(Term, &str)] = &[
    (Term::Day(0), "今天|今日|今儿|本日"),
    (Term::Day(-1), "昨天|昨日|昨儿"),
    (Term::Day(-2), "前天|前日"),
    (Term::Day(-3), "大前天"),
    (Term::Day(1), "明天|明日|明儿"),
    (Term::Day(2), "后天|後天"),
    (Term::Day(3), "大后天|大後天"),
    (Term::DayPart(0, MORNING), "今早|今晨|今天早上"),
    (Term::DayPart(0, NIGHT), "今晚|今夜"),
    (Term::DayPart(-1, NIGHT), "昨晚|昨夜"),
    (Term::DayPart(-2, NIGHT), "前晚"),
    (Term::DayPart(1, MORNING), "明早"),
    (Term::DayPart(1, NIGHT), "明晚"),
    (Term::Part(part(0, 6)), "凌晨"),
    (Term::Part(MORNING), "早上|清晨|早晨|一早|一大早"),
    (Term::Part(FORENOON), "上午"),
    (Term::Part(NOON), "中午"),
    (Term::Part(AFTERNOON), "下午|午后"),
    (Term::Part(part(16, 20)), "傍晚"),
    (Term::Part(NIGHT), "晚上|晚|夜里|晚间|夜晚"),
    (Term::Part(part(22, 29)), "深夜|半夜"),
];

const PERIODS: &[(Term, &str)] = &[
    (Term::Step(-2), "上上|上上个|上上個"),
    (Term::Step(-1), "上|上个|上個|上一个|上一個"),
    (Term::Step(0), "这|这个|這|這個|本|这一|本个"),
    (Term::Step(1), "下|下个|下個|下一个|下一個"),
    (Term::Step(2), "下下|下下个|下下個"),
    (Term::RollingMany, "过去|過去|最近|近|过去的|過去的|最近的"),
    (
        Term::Period(Unit::Month, 0),
        "本月|这月|这个月|這個月|當月|当月",
    ),
    (Term::Period(Unit::Month, -1), "上月|上个月|上個月"),
    (Term::Period(Unit::Month, -2), "上上个月|上上個月|上上月"),
    (Term::Period(Unit::Month, 2), "下下个月|下下個月|下下月"),
    (Term::Period(Unit::Month, 1), "下月|下个月|下個月"),
    (Term::Period(Unit::Year, 0), "今年|本年"),
    (Term::Period(Unit::Year, -1), "去年"),
    (Term::Period(Unit::Year, -2), "前年"),
    (Term::Period(Unit::Year, -3), "大前年"),
    (Term::Period(Unit::Year, 1), "明年"),
    (Term::Period(Unit::Year, 2), "后年|後年"),
    (Term::Unit(Unit::Minute), "分钟|分鐘"),
    (
        Term::Unit(Unit::Hour),
        "小时|小時|个小时|個小時|个钟头|個鐘頭",
    ),
    (Term::Unit(Unit::Day), "天"),
    (
        Term::Unit(Unit::Week),
        "周|週|星期|礼拜|禮拜|个星期|個星期|个礼拜|個禮拜",
    ),
    // The sign after the week belongs to the next word: "上周三次会议".
    (
        Term::Unit(Unit::Week),
        "周一次|周一个|周一個|周一场|周一天|周一位|周一件|周一篇|周二次|周二个|周二個|周二场|周二天|周二位|周二件|周二篇",
    ),
    (
        Term::Unit(Unit::Week),
        "周三次|周三个|周三個|周三场|周三天|周三位|周三件|周三篇|周四次|周四个|周四個|周四场|周四天|周四位|周四件|周四篇",
    ),
    (
        Term::Unit(Unit::Week),
        "周五次|周五个|周五個|周五场|周五天|周五位|周五件|周五篇|周六次|周六个|周六個|周六场|周六天|周六位|周六件|周六篇",
    ),
    (
        Term::Unit(Unit::Week),
        "周一直|周一共|周一起|周一些|周一般|周一定|周日常|周日程|周日志|週一直|週一共|週一起|星期一直|星期一共|星期一起|礼拜一直",
    ),
    (Term::Unit(Unit::Weekend), "周末|週末"),
    (Term::Unit(Unit::Month), "个月|個月"),
    (Term::Unit(Unit::Quarter), "季度"),
];

const NAMES: &[(Term, &str)] = &[
    (Term::Weekday(1), "周一|星期一|礼拜一|週一|禮拜一"),
    (Term::Weekday(2), "周二|星期二|礼拜二|週二|禮拜二"),
    (Term::Weekday(3), "周三|星期三|礼拜三|週三|禮拜三"),
    (Term::Weekday(4), "周四|星期四|礼拜四|週四|禮拜四"),
    (Term::Weekday(5), "周五|星期五|礼拜五|週五|禮拜五"),
    (Term::Weekday(6), "周六|星期六|礼拜六|週六|禮拜六"),
    (
        Term::Weekday(7),
        "周日|星期日|星期天|礼拜天|礼拜日|週日|禮拜天|禮拜日",
    ),
    (Term::YearMark, "年"),
    (Term::MonthMark, "月"),
    (Term::DayMark, "日"),
    (Term::DateMark, "号|號"),
];

const CONNECTIONS: &[(Term, &str)] = &[
    (Term::RelationAfter(Relation::BeforeOrAgo), "前|之前|以前"),
    (Term::RelationAfter(Relation::After), "之后|以后|之後|以後"),
    (
        Term::RelationAfter(Relation::Since),
        "以来|以來|起|开始|開始|至今|到现在|到現在|到今天",
    ),
    (
        Term::RelationAfter(Relation::Until),
        "为止|為止|之间|之間|期间",
    ),
    (Term::Relation(Relation::Since), "自从|自從"),
    (Term::Relation(Relation::Until), "截至|截止|截止到|直到"),
    (Term::From, "从|從|自|由"),
    (Term::To, "到|至|~"),
    (Term::And, "和|与|與"),
    (Term::In, "在|于|於"),
    (Term::Misleads, "版本|第"),
    (
        Term::AnchorAfter,
        "的|份|里|裡|初|底|末|中旬|上旬|下旬|的时候|那天",
    ),
    (Term::Excludes, "每|每个|每個|每逢|逢|为|給"),
];

const OTHERS: &[(Term, &str)] = &[
    (
        Term::Never,
        "黑色星期五|·|这个月饼|这个月亮|这个月球|今日头条|今日頭條|聪明天|后天性|后天条件|后天因素|后天环境|后天努力|后天培养|后天获得|后天学习|后天免疫|後天性|先天后天|先天後天|明日方舟|昨日重现|周边|周刊|周年|周期|周围|周到|周岁|周长|周转|周密|周全|周折|周旋|周总|周先生|周小姐|周老师|周女士|天天|日本|日子|日期|日常|日志|日记|年龄|年纪|年轻|年级|年度|年版|年款|年代|马上|加上|网上|路上|身上|手上|线上|线下|地上|会上|桌上|基本|课本|样本|成本|书本|剧本|文本|脚本|一下|以下|以上|之下|之上|地下|当下|上海|上班|上课|上学|上次|下次|下班|下课|下载|下面|上面|号线|号楼|号码|起来|起床|一起|对不起|开始于|目前|提前|之前的|以前的|当前|面前|从前|前面|前端|日报|周报表",
    ),
    (
        Term::Never,
        "一直|一共|一些|一样|一定|一般|一边|万一|五一|六一|十一黄金周|双十一|第一|第二|第三|星期几|周几|几月|几号",
    ),
    (
        Term::NotPast,
        "需要|会不会|将要|将会|將會|打算|要去|计划在|應該|应该|通常|总是|總是|平时|平時|一般都|经常|經常|提醒我|准备在|得去|有什么安排|有空|即将|要做|要交",
    ),
    (
        Term::Ordinary,
        "我|你|他|她|它|我们|你们|他们|我們|你們|他們|什么|什麼|怎么|怎麼|哪|哪里|哪些|谁|誰|是|了|过|過|说|說|讲|講|聊|谈|談|提|问|問|做|有|没|沒|吗|嗎|呢|吧|关于|關於|跟|对|對|把|被|就|都|也|还|還|不|这些|那些|那个|多少|几|个|個|去|吃|买|買|写|寫|看|记|記|想|会议|会|時|时候|开|见|给|打|花|学|工作|早|答应|告诉|決|决定|发|发生|点|订",
    ),
];
