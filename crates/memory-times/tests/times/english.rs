use super::table::{NOW, ZONE, check, check_none};

#[test]
fn english_questions_name_times() {
    check(NOW, ZONE, TIMES);
}

#[test]
fn english_questions_without_times_name_none() {
    check_none(NONE);
}

#[test]
fn english_chat_names_times_or_none() {
    check(NOW, ZONE, CHAT);
}

const TIMES: &str = "
What did we pay in the 2010 audit? => 2010-01-01..2011-01-01
What did I say last week in Paris? => 2026-03-09..2026-03-16
What did I say yesterday? => 2026-03-17
what did i say today => 2026-03-18
WHAT DID I SAY YESTERDAY? => 2026-03-17
What did we talk about the day before yesterday? => 2026-03-16
What did I say about tomorrow? => 2026-03-19
Is anything known about the day after tomorrow? => 2026-03-20
What did we decide in yesterday's meeting? => 2026-03-17
What did Anna tell me last week in Berlin? => 2026-03-09..2026-03-16
What have I said this week about the budget? => 2026-03-16..2026-03-23
Which trips did I mention for next week? => 2026-03-23..2026-03-30
What did I write the week before last? => 2026-03-02..2026-03-09
What did I do last weekend? => 2026-03-14..2026-03-16
What did we plan this weekend? => 2026-03-21..2026-03-23
What did I cook over the weekend? => 2026-03-14..2026-03-16
How much did I spend last month? => 2026-02-01..2026-03-01
What did I read this month? => 2026-03-01..2026-04-01
What did I learn the month before last? => 2026-01-01..2026-02-01
Where did I travel last year? => 2025-01-01..2026-01-01
What are my goals from this year? => 2026-01-01..2027-01-01
What did I earn the year before last? => 2024-01-01..2025-01-01
What did the team deliver last quarter? => 2025-10-01..2026-01-01
What have we shipped this quarter? => 2026-01-01..2026-04-01
What did I eat yesterday evening? => 2026-03-17T17..2026-03-18
What did I dream about last night? => 2026-03-17T18..2026-03-18T06
What did I tell you this morning? => 2026-03-18T04..2026-03-18T12
What did she ask yesterday in the afternoon? => 2026-03-17T12..2026-03-17T18
What did I write tonight? => 2026-03-18T18..2026-03-19T06
What did I say 3 days ago? => 2026-03-15
What did I say three days ago about Rome? => 2026-03-15
Who called a week ago? => 2026-03-09..2026-03-16
Who called two weeks ago? => 2026-03-02..2026-03-09
What did I weigh a month ago? => 2026-02-01..2026-03-01
Where did I live 10 years ago? => 2016-01-01..2017-01-01
What did I ask you 2 hours ago? => 2026-03-18T13:00:00..2026-03-18T14:00:00
What did I ask you an hour ago? => 2026-03-18T14:00:00..2026-03-18T15:00:00
What did I ask you 20 minutes ago? => 2026-03-18T15:05:00..2026-03-18T15:15:00
What did I ask you in the last 3 days? => 2026-03-15..now
Summarize the last 3 weeks. => 2026-02-25..now
What did I do over the past two months? => 2026-01-18..now
What changed in the past week? => 2026-03-11..now
What did I say in the last 24 hours? => 2026-03-17T15:30:00..now
What have I eaten since Monday? => 2026-03-16..now
What have I written since yesterday? => 2026-03-17..now
What have we discussed since January? => 2026-01-01..now
What did I say before 3 May? => start..2025-05-03
What did I say until yesterday? => start..2026-03-18
What did I say after March 5? => 2026-03-06..now
What did I tell you on Monday? => 2026-03-16
What did I tell you on Wednesday? => 2026-03-11
What did I tell you last Monday? => 2026-03-16
What did I tell you last Friday? => 2026-03-13
Did I mention anything about next Friday? => 2026-03-20
Did I mention this Friday's dinner? => 2026-03-20
What did we decide in Monday's meeting? => 2026-03-16
What did I say on Monday evening? => 2026-03-16T17..2026-03-17
What did I say on Friday of last week? => 2026-03-13
What did I say last week on Tuesday? => 2026-03-10
What happened on 2026-03-05? => 2026-03-05
What happened on 5 March 2026? => 2026-03-05
What happened on March 5, 2026? => 2026-03-05
What happened on March 5th? => 2026-03-05
What happened on the 5th of May? => 2025-05-05
What did I say on Thursday, March 5? => 2026-03-05
What did I order on 3/15/2026? => 2026-03-15
What did I order on 2026/03/15? => 2026-03-15
What did I say in March? => 2026-03-01..2026-04-01
What did I say in May? => 2025-05-01..2025-06-01
what did i say in april about taxes => 2025-04-01..2025-05-01
What did I say last December? => 2025-12-01..2026-01-01
What did I say last March? => 2025-03-01..2025-04-01
What did I say in March last year? => 2025-03-01..2025-04-01
What did I say in March 2024? => 2024-03-01..2024-04-01
What did we sign in 2024? => 2024-01-01..2025-01-01
What did I do from 3 to 7 March? => 2026-03-03..2026-03-08
What did I do from March 3 to March 7? => 2026-03-03..2026-03-08
What did I do between March and May? => 2025-03-01..2025-06-01
What did I do between January and February 2025? => 2025-01-01..2025-03-01
What did we pay between 2022 and 2024? => 2022-01-01..2025-01-01
What did I say on the 5th of last month? => 2026-02-05
Did I say it yesterday or last week? => 2026-03-17 + 2026-03-09..2026-03-16
What did I note in late February? => 2026-02-01..2026-03-01
What did I note in mid-February? => 2026-02-01..2026-03-01
What did we agree on Jan 5, 2026? => 2026-01-05
What was decided in Dec 2025? => 2025-12-01..2026-01-01
What did I say on February 29? => 2024-02-29
Did I say that this year may be hard? => 2026-01-01..2027-01-01
What did I say last year in May? => 2025-05-01..2025-06-01
Is anything known about next 5 May? => 2026-05-05
";

const NONE: &str = r#"
What play is from the 1970's?
How do 1995 to 2000 compare?
Where does the wall stand even today?
What did I plan in the week of 3 May?
What happened the day after 3 May?
What did I know as of 1 May 2025?
What do I do every Monday?
What is my routine on Mondays?
Where do I go each Friday evening?
What do I drink every morning?
Which pill do I take daily?
How do I spend my weekends?
What do I usually eat on Sunday?
Will I see Anna on Friday?
What am I doing on Saturday?
Remind me on Thursday to call Bob.
How old is my three years old nephew?
Was I in Rome for two weeks?
Which project is two weeks long?
Who wrote "Friday Night Lights"?
What did I say about “Yesterday” by the Beatles?
Did I like the show Last Week Tonight?
What did I think of the Sunday Times?
Did I watch Friday Night Lights?
What did I buy on Black Friday?
May I see my notes?
What may have gone wrong?
What did April tell me about her job?
Did May call back?
What did June and August say about the house?
Is it the second door on the left?
Did I want to visit Mars?
How long is the march to the sea?
Did the band march through town?
What did I say about Python 3.12 and version 2.3.2026?
What does the plan cost, $2024 or €1999?
Is my phone number 0171 2024 5555?
Do I like Summer of 69?
What is at https://example.com/2026/03/05/yesterday?
What does `date --date yesterday` print?
What does last_week() return?
Did I send the file report-2026-03-05.pdf?
Summarize it in 2000 words.
Did I mention Windows 2000?
What is my favorite day of the week?
What did I say about the weekend house?
Which month is my birthday in?
How many years have I lived here?
What did I say about this may be wrong?
What did I say a few days ago?
What did I say a couple of weeks ago?
What happened more than 3 weeks ago?
What did I say two or three weeks ago?
What happened the last time we met?
What did I do on the last day of the trip?
What was the last week of the project like?
When did the meeting start?
Which dates did I give, 3/5/2026?
What is half an hour of running worth?
What did I order at 5/6 of the price?
Is the Monday-club fun?
What did I say one day?
Who is Robinson's friend Friday?
Who sang Blue Monday?
What happened 3 days before the wedding?
What did I say the day after the exam?
Where is Marchtown?
Did I ever see a Sundance film?
How is my secondary school called?
I work Monday to Friday, right?
What did the 2024 model cost?
Did 12 may people come?
What do I need to finish before Friday?
Who is in April's class?
A longer session on Saturday mornings.
Is it in May's opinion a mistake?
Tell May I said hi.
Is The Day After Tomorrow a film?
I have to march 5 miles.
Did we go on from 9 to 5?
"#;

/// Questions in a chat, half of them without a time: `-`.
const CHAT: &str = r#"
hey, what was that restaurant I told you about yesterday? => 2026-03-17
can you pull up the recipe I sent last Sunday => 2026-03-15
what did my doctor say about my knee last month => 2026-02-01..2026-03-01
Which books did I finish this year? => 2026-01-01..2027-01-01
remember when I complained about my boss two days ago? => 2026-03-16
what was the name of the guy I met on Saturday night? => 2026-03-14T18..2026-03-15T06
list everything I ate today => 2026-03-18
How did I sleep last night? => 2026-03-17T18..2026-03-18T06
What was my mood like over the last two weeks? => 2026-03-04..now
Give me a summary of our chats from last Thursday. => 2026-03-12
What did I promise Julia on Friday? => 2026-03-13
What were the action items from Monday's standup? => 2026-03-16
did I take my meds this morning => 2026-03-18T04..2026-03-18T12
what did I tell you about my trip to Lisbon in October => 2025-10-01..2025-11-01
When I called the bank in January, what did they say? => 2026-01-01..2026-02-01
What did we discuss on the 3rd of February? => 2026-02-03
Show me what I wrote on Feb 14th => 2026-02-14
what happened between Christmas and 5 January 2026? => 2026-01-05
How many kilometers did I run last week? => 2026-03-09..2026-03-16
how much weight have I lost since the beginning of February? => 2026-02-01..now
What has changed since last Tuesday? => 2026-03-17..now
Everything I noted before last Friday please => start..2026-03-13
What did I say about the project up until last week? => start..2026-03-16
Did anything happen after 10 March? => 2026-03-11..now
What was I working on in the summer of 2024? => -
What was I working on in late 2024? => 2024-01-01..2025-01-01
What did the landlord write three months ago? => 2025-12-01..2026-01-01
What did I say about Tokyo a year ago? => 2025-01-01..2026-01-01
What questions did I ask within the last hour? => 2026-03-18T14:30:00..now
What did I say 45 minutes ago? => 2026-03-18T14:40:00..2026-03-18T14:50:00
What did we agree the day before yesterday, again? => 2026-03-16
Tell me about my appointments tomorrow => 2026-03-19
What am I supposed to bring next Saturday? => 2026-03-21
who did I have lunch with on Tuesday the 10th of March? => 2026-03-10
What did I say on 12/25/2025? => 2025-12-25
What did I note on 2026-02-28? => 2026-02-28
Did I buy the tickets on Dec 12, 2025? => 2025-12-12
What did I say in my therapy session last Wednesday? => 2026-03-11
What did I say yesterday at 5 pm? => 2026-03-17
From March 1 to March 10, how often did I meditate? => 2026-03-01..2026-03-11
What did I spend from January to February? => 2026-01-01..2026-03-01
What were my goals for last quarter? => 2025-10-01..2026-01-01
which song did I like so much last weekend? => 2026-03-14..2026-03-16
What did I tell you about my mom earlier this week? => 2026-03-16..2026-03-23
The thing from the week before last, what was it? => 2026-03-02..2026-03-09
Since when... no wait, what did I say since Sunday? => 2026-03-15..now
what did i say on monday morning about the invoice => 2026-03-16T04..2026-03-16T12
What did I say in November 2025 about taxes? => 2025-11-01..2025-12-01
Which movie did we watch last Saturday evening? => 2026-03-14T17..2026-03-15
Anything from the past ten days about insurance? => 2026-03-08..now
What's my sister's name? => -
Which allergies do I have? => -
Do I prefer tea or coffee? => -
Who is my dentist? => -
What's the wifi password at the office? => -
How do I take my coffee in the morning? => -
What time do I usually get up? => -
Do I have a meeting every Tuesday? => -
When is my birthday? => -
When did I start my job? => -
How long have I been married? => -
What did I say about the Monday blues? => -
Did I say that May is coming to dinner? => -
May I ask what you remember about me? => -
What does April do for a living? => -
Is June my aunt or my cousin? => -
What's Augustus's last name? => -
What did I think about the march for climate? => -
How far is Mars from the sun? => -
Which is my second favorite band? => -
What's the last thing I said? => -
What was the first thing I told you? => -
How old are my kids? => -
I need a plan for the next 3 days => -
Give me one more minute of your time => -
What's the best day for a workout? => -
Explain the year-end process to me => -
What did I say about day care? => -
Who played in "A Hard Day's Night"? => -
Did I mention the 2024 Olympics? => -
What's my score in level 2024? => -
Which version of Node do I use, 20.11.1? => -
What was that 90s song called? => -
What did I say about the 5 o'clock news? => -
Did I like the movie Tomorrow Never Dies? => -
Do you know The Week magazine? => -
Is the Sunday roast recipe saved? => -
What did I tell you about Ash Wednesday? => -
How many hours did the flight take? => -
We waited for three hours, right? => -
How many days of vacation do I have? => -
Which of my friends is a night owl? => -
What did I once say about evenings? => -
What's today's date format in ISO? => 2026-03-18
What did I say a while ago about kids? => -
What did I say back then about kids? => -
What did I recently say about kids? => -
I said this before, didn't I? => -
Do you remember the other day? => -
What's next? => -
Yesterday I mentioned a podcast, which one? => 2026-03-17
Yesterday's lunch — what was it again? => 2026-03-17
Today's todo list please => 2026-03-18
Can you recap Tuesday? => -
Last week I told you about a noise in my car. => 2026-03-09..2026-03-16
In the past 30 days, how often did I go to the gym? => 2026-02-16..now
How was my weekend before last? => 2026-03-07..2026-03-09
the email from 7 Jan, what was in it => 2026-01-07
What did I buy in December 2024 and January 2025? => 2024-12-01..2025-01-01 + 2025-01-01..2025-02-01
What did we plan on Thursday, 12 March 2026, at noon? => 2026-03-12
What was the weather on the morning of March 4? => 2026-03-04
What did I say Monday? => -
Any news from this month's newsletter? => 2026-03-01..2026-04-01
What were sales last year in March? => 2025-03-01..2025-04-01
How did the interview two weeks ago go? => 2026-03-02..2026-03-09
What did I learn over the last 6 months? => 2025-09-18..now
anything since March 1st? => 2026-03-01..now
What did I say between Monday and yesterday? => 2026-03-16..2026-03-18
Did I say that last Monday or this Monday? => 2026-03-16 + 2026-03-16
What did I decide the night before? => -
Was it last May that I moved? => 2025-05-01..2025-06-01
What did I tell you in early 2025? => 2025-01-01..2026-01-01
Did we discuss the Q3 report? => -
Show all messages from 03/04/2026. => -
Have I been to Rome in the last year? => 2025-03-18..now
Which exams did I pass in 2019? => 2019-01-01..2020-01-01
Is it true that in 2050 sea levels rise? => 2050-01-01..2051-01-01
What did I say about the Friday deadline? => -
Do you recall the Thursday meeting? => -
What happened on Sunday the 8th? => 2026-03-15
What is the plan from Monday to Friday? => -
Who won the 2018 World Cup? => -
Is this year-long course worth it? => -
My son is 3 days old. => -
I'll be back in 5 minutes => -
What did Apple announce this past September? => 2025-09-01..2025-10-01
Did the May report mention the March on Washington? => -
Was Theresa May in office in May 2018? => 2018-05-01..2018-06-01
so what did we settle on in the call this afternoon? => 2026-03-18T12..2026-03-18T18
pls find the thing about mortgages from mid January => 2026-01-01..2026-02-01
How many beers did I log on Friday and Saturday? => 2026-03-13 + 2026-03-14
What did I spend in March and April? => 2026-03-01..2026-04-01 + 2025-04-01..2025-05-01
did i mention headaches during the past 6 weeks => 2026-02-04..now
Between 10 and 14 March, where was I? => 2026-03-10..2026-03-15
Who did I say would visit us next month? => 2026-04-01..2026-05-01
What did I write on the 28th of February 2025? => 2025-02-28
I told you something 5 weeks ago regarding visas. => 2026-02-09..2026-02-16
Look through everything from February 1 - February 7 => 2026-02-01..2026-02-08
Compare this week with last week. => 2026-03-16..2026-03-23 + 2026-03-09..2026-03-16
What did we chat about yesterday night? => 2026-03-17T18..2026-03-18T06
What came up in the December 2025 review? => 2025-12-01..2026-01-01
Last Thursday morning I sent a code snippet, show it. => 2026-03-12T04..2026-03-12T12
In 2022 I changed jobs; what did I say about it? => 2022-01-01..2023-01-01
Anything I've asked prior to last month? => start..2026-02-01
Did the bug appear before or after 2 March? => 2026-03-03..now
What did I say about Maya's wedding since this morning? => 2026-03-18T04..now
Is the meeting at 3? => -
My flight is LH2024 on gate 5, remember? => -
How do I set the date in PHP? => -
Which day did I say is rubbish day? => -
Do I owe him 300 or 2000 euros? => -
What's the difference between day and night shifts? => -
I read a book called Second Foundation, right? => -
Who is August Wilson? => -
What did Summer say to Autumn? => -
Do I like Wednesday Addams? => -
Translate good morning into Finnish. => -
What is the capital of March Island? => -
Tell me a story about last chances. => -
The next time we meet, what should I bring? => -
Was that a one-year contract? => -
Why did I say it may take weeks? => -
How was I the day I met Ann? => -
"#;
