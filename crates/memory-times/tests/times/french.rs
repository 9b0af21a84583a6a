use super::table::{NOW, ZONE, check, check_none};

#[test]
fn french_questions_name_times() {
    check(NOW, ZONE, TIMES);
}

#[test]
fn french_questions_without_times_name_none() {
    check_none(NONE);
}

#[test]
fn french_chat_names_times_or_none() {
    check(NOW, ZONE, CHAT);
}

const TIMES: &str = "
Qu'est-ce que j'ai dit hier ? => 2026-03-17
qu'ai-je dit aujourd'hui => 2026-03-18
Qu’est-ce que j’ai dit aujourd’hui ? => 2026-03-18
Qu'est-ce que j'ai dit avant-hier sur Rome ? => 2026-03-16
Qu'est-ce que j'ai dit sur demain ? => 2026-03-19
Que sait-on d'après-demain ? => 2026-03-20
Qu'avons-nous décidé dans la réunion d'hier ? => 2026-03-17
Qu'est-ce que j'ai dit ce matin ? => 2026-03-18T04..2026-03-18T12
Qu'est-ce que j'ai mangé hier soir ? => 2026-03-17T17..2026-03-18
Qu'est-ce que j'ai fait hier après-midi ? => 2026-03-17T12..2026-03-17T18
Qu'est-ce que j'ai dit cet après-midi ? => 2026-03-18T12..2026-03-18T18
De quoi ai-je rêvé la nuit dernière ? => 2026-03-17T18..2026-03-18T06
Que se passe-t-il demain matin ? => 2026-03-19T04..2026-03-19T12
Qu'est-ce que j'ai dit la semaine dernière à Berlin ? => 2026-03-09..2026-03-16
qu'est ce que j'ai dit la semaine derniere => 2026-03-09..2026-03-16
Qu'est-ce que j'ai écrit cette semaine ? => 2026-03-16..2026-03-23
Que sait-on de la semaine prochaine ? => 2026-03-23..2026-03-30
Qu'est-ce que j'ai raconté l'avant-dernière semaine ? => 2026-03-02..2026-03-09
Qu'est-ce que j'ai fait le week-end dernier ? => 2026-03-14..2026-03-16
Qu'est-ce que j'ai fait ce week-end ? => 2026-03-14..2026-03-16
Combien ai-je dépensé le mois dernier ? => 2026-02-01..2026-03-01
Qu'est-ce que j'ai lu ce mois-ci ? => 2026-03-01..2026-04-01
Où étais-je l'année dernière ? => 2025-01-01..2026-01-01
Où étais-je l'an dernier ? => 2025-01-01..2026-01-01
Où étais-je l'an passé ? => 2025-01-01..2026-01-01
Qu'est-ce que j'ai appris cette année ? => 2026-01-01..2027-01-01
Qu'avons-nous livré le trimestre dernier ? => 2025-10-01..2026-01-01
Qu'avons-nous livré ce trimestre ? => 2026-01-01..2026-04-01
Qu'est-ce que j'ai dit il y a 3 jours ? => 2026-03-15
Qu'est-ce que j'ai dit il y a trois jours sur Rome ? => 2026-03-15
Qui a appelé il y a une semaine ? => 2026-03-09..2026-03-16
Qui a appelé il y a deux semaines ? => 2026-03-02..2026-03-09
Combien je pesais il y a un mois ? => 2026-02-01..2026-03-01
Où est-ce que j'habitais il y a dix ans ? => 2016-01-01..2017-01-01
Qu'ai-je demandé il y a deux heures ? => 2026-03-18T13:00:00..2026-03-18T14:00:00
Qu'ai-je demandé il y a 20 minutes ? => 2026-03-18T15:05:00..2026-03-18T15:15:00
Qu'ai-je dit ces 3 derniers jours ? => 2026-03-15..now
Résume les trois dernières semaines. => 2026-02-25..now
Que s'est-il passé au cours des deux derniers mois ? => 2026-01-18..now
Qu'ai-je mangé depuis lundi ? => 2026-03-16..now
Qu'ai-je dit depuis hier ? => 2026-03-17..now
Qu'ai-je appris depuis janvier ? => 2026-01-01..now
Comment je vais depuis 3 jours ? => 2026-03-15..now
Qu'ai-je dit avant le 3 mai ? => start..2025-05-03
Qu'ai-je dit jusqu'à hier ? => start..2026-03-18
Qu'ai-je dit après le 5 mars ? => 2026-03-06..now
Qu'ai-je dit à partir du 5 mars ? => 2026-03-05..now
Qu'est-ce que j'ai dit lundi ? => 2026-03-16
Qu'est-ce que j'ai dit lundi dernier ? => 2026-03-16
Qu'est-ce que j'ai dit vendredi dernier ? => 2026-03-13
Qu'est-ce que j'ai dit sur ce vendredi ? => 2026-03-20
Que sait-on de lundi prochain ? => 2026-03-23
Qu'avons-nous décidé dans la réunion de lundi ? => 2026-03-16
Qu'est-ce que j'ai dit lundi soir ? => 2026-03-16T17..2026-03-17
Qu'est-ce que j'ai dit le vendredi de la semaine dernière ? => 2026-03-13
Que s'est-il passé le 2026-03-05 ? => 2026-03-05
Que s'est-il passé le 05/03/2026 ? => 2026-03-05
Que s'est-il passé le 5 mars 2026 ? => 2026-03-05
Que s'est-il passé le 5 mars ? => 2026-03-05
Que s'est-il passé le 1er mai ? => 2025-05-01
Que s'est-il passé le jeudi 5 mars ? => 2026-03-05
Qu'ai-je dit en mars ? => 2026-03-01..2026-04-01
Qu'ai-je dit en mai ? => 2025-05-01..2025-06-01
Qu'ai-je dit en décembre dernier ? => 2025-12-01..2026-01-01
Qu'ai-je dit en mars de l'année dernière ? => 2025-03-01..2025-04-01
Qu'ai-je dit en mars 2024 ? => 2024-03-01..2024-04-01
qu'ai-je dit en fevrier => 2026-02-01..2026-03-01
Qu'ai-je dit fin février ? => 2026-02-01..2026-03-01
Qu'avons-nous signé en 2024 ? => 2024-01-01..2025-01-01
Qu'ai-je fait de mars à mai ? => 2025-03-01..2025-06-01
Qu'ai-je fait du 3 au 7 mars ? => 2026-03-03..2026-03-08
Qu'ai-je fait entre janvier et février 2025 ? => 2025-01-01..2025-03-01
Qu'avons-nous payé entre 2022 et 2024 ? => 2022-01-01..2025-01-01
";

const NONE: &str = r#"
Que s'est-il passé la semaine du 6 octobre ?
Que s'est-il passé le lendemain du 13 février ?
Qu'est-ce que je fais chaque lundi ?
Où suis-je le lundi ?
Qu'est-ce que je fais tous les vendredis ?
Qu'est-ce que je mange tous les matins ?
Quel cachet je prends par jour ?
Que mange-t-on toujours dimanche ?
Est-ce que je vais voir Anne vendredi ?
Rappelle-moi jeudi d'appeler Jean.
Quel âge a mon neveu de trois ans ?
Ai-je passé deux semaines à Rome ?
Quel projet dure deux semaines ?
Qui a écrit « Vendredi ou les Limbes du Pacifique » ?
Qui chante “Hier encore” ?
Où est ma maison de campagne ?
Qu'ai-je dit sur la planète Mars ?
Est-ce que la marche était longue ?
Ai-je visité le Champ de Mars ?
Qu'est-ce que Avril Lavigne a chanté ?
Qui a tourné un film sur Mars ?
Qu'ai-je dit du rover Mars 2020 ?
Combien ça coûte, 2024 euros ou 1999 francs ?
Mon numéro est-il 0171 2024 5555 ?
Qu'est-ce que l'Agenda 2030 ?
Qu'y a-t-il sur https://example.com/2026/03/05/hier ?
Que donne `date hier` ?
Où est le fichier rapport-2026-03-05.pdf ?
Résume-le en 2000 mots.
Ai-je parlé de Windows 2000 ?
Qu'ai-je dit de la version 5.3.1 ?
Quel jour de la semaine je préfère ?
Qu'ai-je dit de la maison du week-end ?
Quel mois est mon anniversaire ?
Depuis quand j'habite ici ?
Qu'ai-je dit il y a quelques jours ?
Qu'ai-je dit il y a longtemps ?
Qu'ai-je dit il y a plus de 3 semaines ?
Qu'ai-je dit il y a deux ou trois semaines ?
Que s'est-il passé le dernier jour du voyage ?
Comment était la dernière semaine du projet ?
Quand la réunion a-t-elle commencé ?
Qu'ai-je dit la dernière fois ?
Est-ce que je travaille du lundi au vendredi ?
Qu'ai-je acheté le Vendredi noir ?
Que fait-on pour lundi ?
Qu'ai-je dit un jour ?
Qu'ai-je dit de mon frère ?
Qui est Vendredi dans Robinson ?
Combien de jours y a-t-il dans un mois ?
Qu'ai-je rêvé cette nuit ?
Que s'est-il passé 3 jours avant le mariage ?
Que s'est-il passé le lendemain ?
Quelle est la date de naissance de ma sœur ?
Qu'ai-je dit sur Sept à huit ?
Ai-je aimé le mardi gras ?
Est-ce que le soir me convient ?
Mon bureau est-il au 5 rue de mai ?
"#;

/// Questions in a chat, half of them without a time: `-`.
const CHAT: &str = r#"
dis, c'était quoi le restaurant dont je t'ai parlé hier ? => 2026-03-17
retrouve la recette que j'ai envoyée dimanche dernier => 2026-03-15
Qu'a dit le médecin de mon genou le mois dernier ? => 2026-02-01..2026-03-01
Quels livres ai-je lus cette année ? => 2026-01-01..2027-01-01
tu te souviens quand je me suis plaint de mon chef il y a deux jours ? => 2026-03-16
Comment s'appelait le gars que j'ai rencontré samedi soir ? => 2026-03-14T17..2026-03-15
liste tout ce que j'ai mangé aujourd'hui => 2026-03-18
Comment ai-je dormi la nuit dernière ? => 2026-03-17T18..2026-03-18T06
Comment était mon humeur ces deux dernières semaines ? => 2026-03-04..now
Résume nos discussions de jeudi dernier. => 2026-03-12
Qu'ai-je promis à Julie vendredi ? => 2026-03-13
Quelles tâches sont sorties de la réunion de lundi ? => 2026-03-16
ai-je pris mes cachets ce matin => 2026-03-18T04..2026-03-18T12
qu'est-ce que je t'ai raconté en octobre sur mon voyage à Lisbonne => 2025-10-01..2025-11-01
Quand j'ai appelé la banque en janvier, qu'ont-ils dit ? => 2026-01-01..2026-02-01
De quoi avons-nous parlé le 3 février ? => 2026-02-03
Montre-moi ce que j'ai écrit le 14 février => 2026-02-14
Que disait le mail du 14/02/2026 ? => 2026-02-14
Combien de kilomètres ai-je courus la semaine dernière ? => 2026-03-09..2026-03-16
Combien ai-je maigri depuis début février ? => 2026-02-01..now
Qu'est-ce qui a changé depuis mardi dernier ? => 2026-03-17..now
Tout ce que j'ai noté avant vendredi dernier, s'il te plaît => start..2026-03-13
Qu'ai-je dit du projet jusqu'à la semaine dernière ? => start..2026-03-16
S'est-il passé quelque chose après le 10 mars ? => 2026-03-11..now
Sur quoi je travaillais fin 2024 ? => 2024-01-01..2025-01-01
Qu'a écrit le propriétaire il y a trois mois ? => 2025-12-01..2026-01-01
Qu'ai-je dit de Tokyo il y a un an ? => 2025-01-01..2026-01-01
Qu'est-ce que je t'ai demandé il y a une heure ? => 2026-03-18T14:00:00..2026-03-18T15:00:00
Qu'est-ce que j'ai dit il y a 45 minutes ? => 2026-03-18T14:40:00..2026-03-18T14:50:00
On avait convenu quoi avant-hier ? => 2026-03-16
Parle-moi de mes rendez-vous de demain => 2026-03-19
Qu'est-ce que j'apporte samedi prochain ? => 2026-03-21
Avec qui ai-je mangé le mardi 10 mars ? => 2026-03-10
Qu'ai-je dit le 25/12/2025 ? => 2025-12-25
Qu'ai-je noté le 2026-02-28 ? => 2026-02-28
Ai-je acheté les billets le 12 décembre 2025 ? => 2025-12-12
Qu'est-ce qui est sorti en thérapie mercredi dernier ? => 2026-03-11
Qu'ai-je dit hier à 17 heures ? => 2026-03-17
Combien de fois ai-je médité du 1er au 10 mars ? => 2026-03-01..2026-03-11
Combien ai-je dépensé de janvier à février ? => 2026-01-01..2026-03-01
Quels étaient nos objectifs du trimestre dernier ? => 2025-10-01..2026-01-01
Quelle chanson m'a tant plu le week-end dernier ? => 2026-03-14..2026-03-16
Qu'ai-je dit de ma mère en début de semaine ? => -
Qu'ai-je fait depuis dimanche ? => 2026-03-15..now
qu'est ce que j'ai dit lundi matin sur la facture => 2026-03-16T04..2026-03-16T12
Qu'ai-je dit en novembre 2025 sur les impôts ? => 2025-11-01..2025-12-01
Quel film avons-nous vu samedi dernier ? => 2026-03-14
Y a-t-il eu quelque chose sur l'assurance ces dix derniers jours ? => 2026-03-08..now
Où étais-je en vacances en 2023 ? => 2023-01-01..2024-01-01
On s'est dit quoi y'a trois semaines ? => 2026-02-23..2026-03-02
Comment s'appelle ma sœur ? => -
Quelles allergies ai-je ? => -
Est-ce que je préfère le thé ou le café ? => -
Qui est mon dentiste ? => -
C'est quoi le mot de passe wifi du bureau ? => -
Comment je prends mon café le matin ? => -
À quelle heure je me lève d'habitude ? => -
Ai-je une réunion tous les mardis ? => -
C'est quand mon anniversaire ? => -
Quand ai-je commencé mon travail ? => -
Depuis combien de temps suis-je marié ? => -
Qu'ai-je dit du blues du lundi ? => -
Est-ce qu'Avril vient dîner ? => -
Puis-je demander ce que tu sais de moi ? => -
Que fait Juin dans la vie ? => -
Est-ce que Mars est loin du soleil ? => -
Quel est mon deuxième groupe préféré ? => -
Quelle est la dernière chose que j'ai dite ? => -
Quelle est la première chose que je t'ai dite ? => -
Quel âge ont mes enfants ? => -
Fais-moi un plan pour les trois prochains jours => -
Donne-moi encore une minute => -
Quel jour me convient pour le sport ? => -
Explique-moi la clôture de l'année => -
Qu'ai-je dit de la crèche de jour ? => -
Qui joue dans « Un jour sans fin » ? => -
Ai-je parlé des Jeux de Paris 2024 ? => -
Quelle version de Node j'utilise, la 20.11.1 ? => -
C'était quoi cette chanson des années 90 ? => -
Ai-je aimé le film Demain ne meurt jamais ? => -
Est-ce que je lis L'Hebdo du dimanche ? => -
La recette du rôti du dimanche est-elle enregistrée ? => -
Qu'ai-je dit du mercredi des Cendres ? => -
Combien d'heures a duré le vol ? => -
On a attendu trois heures, non ? => -
Combien de jours de congé me reste-t-il ? => -
Qui de mes amis est un oiseau de nuit ? => -
Qu'ai-je dit une fois sur les soirées ? => -
Qu'ai-je dit récemment sur les enfants ? => -
Qu'ai-je dit à l'époque sur les enfants ? => -
Qu'ai-je dit l'autre jour en voiture ? => -
Je l'ai déjà dit avant, non ? => -
C'est quoi la suite ? => -
Quelle est la prochaine étape ? => -
Le dernier point est-il réglé ? => -
Dans ce sens, qu'ai-je pensé ? => -
Quelle est mon adresse, rue du 8 mai 1945 ? => -
Ai-je bien rangé la maison ? => -
Suis-je du matin ou du soir ? => -
Est-ce que je préfère mars ou avril ? => -
Y a-t-il un an d'écart entre mes frères ? => -
Hier j'ai mentionné un podcast, lequel ? => 2026-03-17
La liste des tâches d'aujourd'hui s'il te plaît => 2026-03-18
La semaine dernière je t'ai parlé d'un bruit dans ma voiture. => 2026-03-09..2026-03-16
Ces 30 derniers jours, combien de fois suis-je allé au sport ? => 2026-02-16..now
Que disait le courriel du 7 janvier ? => 2026-01-07
Qu'avons-nous prévu le jeudi 12 mars 2026 à midi ? => 2026-03-12T11..2026-03-12T14
Comment s'est passé l'entretien d'il y a deux semaines ? => 2026-03-02..2026-03-09
Qu'ai-je appris ces six derniers mois ? => 2025-09-18..now
Quelque chose depuis le 1er mars ? => 2026-03-01..now
Qu'ai-je dit entre lundi et hier ? => 2026-03-16..2026-03-18
Qu'est-ce que je t'ai dit début 2025 ? => 2025-01-01..2026-01-01
Quels examens ai-je réussis en 2019 ? => 2019-01-01..2020-01-01
Qui a gagné la Coupe du monde 2018 ? => -
Mon fils a 3 jours. => -
Je reviens dans 5 minutes => -
Qu'a annoncé Apple en septembre dernier ? => 2025-09-01..2025-10-01
Qu'ai-je dit le 5 mars dernier ? => 2026-03-05
Qu'ai-je fait le premier lundi de mars ? => -
Où étais-je il y a un an ? => 2025-01-01..2026-01-01
Dis-moi ce qui s'est passé dimanche soir => 2026-03-15T17..2026-03-16
De quoi parlait l'appel d'hier matin ? => 2026-03-17T04..2026-03-17T12
Qu'a-t-on fait pendant l'été ? => -
Des nouvelles de la newsletter de ce mois ? => 2026-03-01..2026-04-01
Lundi, j'ai vu le médecin, qu'a-t-il dit ? => 2026-03-16
On s'est vus jeudi, j'ai dit quoi ? => 2026-03-12
Mercredi prochain, j'apporte quoi ? => 2026-03-25
Qu'est-ce que j'ai dit à Marc samedi ? => 2026-03-14
C'était comment ton week-end ? => -
Qu'ai-je mangé à midi ? => -
Le dernier mois a été dur ? => -
Je t'ai dit ça cette année ou l'année dernière ? => 2026-01-01..2027-01-01 + 2025-01-01..2026-01-01
Est-ce lundi ou mardi mon cours ? => -
À demain ! => 2026-03-19
Bonne soirée et à lundi ! => -
Suis-je libre vendredi ? => -
Qu'ai-je dit de Mai Lan ? => -
Quel est le prix du passé ? => -
Les mardis de l'art, c'était quoi ? => -
Il y a trois jours dans un week-end prolongé. => -
Dès lundi j'arrête de fumer. => -
on a décidé quoi dans l'appel de cet après-midi ? => 2026-03-18T12..2026-03-18T18
retrouve le truc sur le prêt de mi-janvier => 2026-01-01..2026-02-01
ai-je mentionné des maux de tête ces 6 dernières semaines => 2026-02-04..now
Où étais-je entre le 10 et le 14 mars ? => 2026-03-10..2026-03-15
Qui ai-je dit qui nous rendait visite le mois prochain ? => 2026-04-01..2026-05-01
Qu'ai-je écrit le 28 février 2025 ? => 2025-02-28
Je t'ai dit un truc il y a cinq semaines sur les visas. => 2026-02-09..2026-02-16
Parcours tout du 1er février au 7 février => 2026-02-01..2026-02-08
Compare cette semaine avec la semaine passée. => 2026-03-16..2026-03-23 + 2026-03-09..2026-03-16
Qu'est-il ressorti de la revue de décembre 2025 ? => 2025-12-01..2026-01-01
Jeudi dernier au matin j'ai envoyé du code, montre-le. => 2026-03-12T04..2026-03-12T12
En 2022 j'ai changé de travail ; qu'en ai-je dit ? => 2022-01-01..2023-01-01
Le bug était-il déjà là avant le 2 mars ? => start..2026-03-02
Qu'ai-je dit de Maya depuis ce matin ? => 2026-03-18T04..now
As-tu encore la liste de courses d'avant-hier ? => 2026-03-16
C'était quoi le mieux des vacances en août dernier ? => 2025-08-01..2025-09-01
Quel film ai-je vu vendredi soir ? => 2026-03-13T17..2026-03-14
La réunion est à 3 h ? => -
Mon vol est le LH2024, non ? => -
Comment mettre la date en PHP ? => -
Je lui dois 300 ou 2000 euros ? => -
Quelle différence entre équipe de jour et de nuit ? => -
Qui est Jules Mars ? => -
J'aime Mercredi Addams ? => -
Traduis bonjour en finnois. => -
Raconte une histoire de dernières chances. => -
J'apporte quoi la prochaine fois ? => -
C'était un contrat d'un an ? => -
Pourquoi ça prend des semaines ? => -
Comment était le jour où j'ai connu Anne ? => -
Quelle heure est-il à Tokyo ? => -
Les poubelles passent le mardi ? => -
Je sors du lundi au jeudi ? => -
Le maire s'appelle Lundi ? => -
"#;
