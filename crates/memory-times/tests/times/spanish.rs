use super::table::{NOW, ZONE, check, check_none};

#[test]
fn spanish_questions_name_times() {
    check(NOW, ZONE, TIMES);
}

#[test]
fn spanish_questions_without_times_name_none() {
    check_none(NONE);
}

#[test]
fn spanish_chat_names_times_or_none() {
    check(NOW, ZONE, CHAT);
}

const TIMES: &str = "
¿Qué dije ayer? => 2026-03-17
que dije hoy => 2026-03-18
¿Qué dije anteayer sobre Roma? => 2026-03-16
¿Qué dije sobre mañana? => 2026-03-19
¿Qué se sabe de pasado mañana? => 2026-03-20
¿Qué dije esta mañana? => 2026-03-18T04..2026-03-18T12
que dije esta manana => 2026-03-18T04..2026-03-18T12
¿Qué dije ayer por la mañana? => 2026-03-17T04..2026-03-17T12
¿Qué comí ayer por la tarde? => 2026-03-17T12..2026-03-17T21
¿Qué dije esta tarde? => 2026-03-18T12..2026-03-18T21
¿Qué soñé anoche? => 2026-03-17T18..2026-03-18T06
¿Qué cenamos ayer por la noche? => 2026-03-17T18..2026-03-18T06
¿Qué pasa mañana por la mañana? => 2026-03-19T04..2026-03-19T12
¿Qué dije la semana pasada en Berlín? => 2026-03-09..2026-03-16
¿Qué escribí esta semana? => 2026-03-16..2026-03-23
¿Qué se sabe de la próxima semana? => 2026-03-23..2026-03-30
¿Qué se sabe de la semana que viene? => 2026-03-23..2026-03-30
¿Qué conté la semana antepasada? => 2026-03-02..2026-03-09
¿De qué hablamos en la reunión de la semana pasada? => 2026-03-09..2026-03-16
¿Qué hice el fin de semana pasado? => 2026-03-14..2026-03-16
¿Qué hice el fin de semana? => 2026-03-14..2026-03-16
¿Qué hicimos este fin de semana? => 2026-03-21..2026-03-23
¿Cuánto gasté el mes pasado? => 2026-02-01..2026-03-01
¿Qué leí este mes? => 2026-03-01..2026-04-01
¿Dónde estuve el año pasado? => 2025-01-01..2026-01-01
¿donde estuve el ano pasado? => 2025-01-01..2026-01-01
¿Qué aprendí este año? => 2026-01-01..2027-01-01
¿Qué entregamos el trimestre pasado? => 2025-10-01..2026-01-01
¿Qué entregamos este trimestre? => 2026-01-01..2026-04-01
¿Qué dije hace 3 días? => 2026-03-15
¿Qué dije hace tres dias sobre Roma? => 2026-03-15
¿Quién llamó hace una semana? => 2026-03-09..2026-03-16
¿Quién llamó hace dos semanas? => 2026-03-02..2026-03-09
¿Qué dije tres semanas atrás? => 2026-02-23..2026-03-02
¿Cuánto pesaba hace un mes? => 2026-02-01..2026-03-01
¿Dónde vivía hace diez años? => 2016-01-01..2017-01-01
¿Qué pregunté hace dos horas? => 2026-03-18T13:00:00..2026-03-18T14:00:00
¿Qué pregunté hace 20 minutos? => 2026-03-18T15:05:00..2026-03-18T15:15:00
¿Qué dije en los últimos 3 días? => 2026-03-15..now
Resume las últimas tres semanas. => 2026-02-25..now
¿Qué pasó en los dos últimos meses? => 2026-01-18..now
¿Qué cambió en la última semana? => 2026-03-11..now
¿Qué comí desde el lunes? => 2026-03-16..now
¿Qué dije desde ayer? => 2026-03-17..now
¿Qué aprendí desde enero? => 2026-01-01..now
¿Cómo estoy desde hace 3 días? => 2026-03-15..now
¿Qué dije antes del 3 de mayo? => start..2025-05-03
¿Qué dije hasta ayer? => start..2026-03-18
¿Qué dije después del 5 de marzo? => 2026-03-06..now
¿Qué dije a partir del 5 de marzo? => 2026-03-05..now
¿Qué dije el lunes? => 2026-03-16
¿Qué dije el lunes pasado? => 2026-03-16
¿Qué dije el pasado viernes? => 2026-03-13
que dije el miercoles pasado => 2026-03-11
¿Qué dije sobre este viernes? => 2026-03-20
¿Qué se sabe del próximo lunes? => 2026-03-23
¿Qué se sabe del lunes que viene? => 2026-03-23
¿Qué decidimos en la reunión del lunes? => 2026-03-16
¿Qué dije el lunes por la noche? => 2026-03-16T18..2026-03-17T06
¿Qué dije el viernes de la semana pasada? => 2026-03-13
¿Qué pasó el 2026-03-05? => 2026-03-05
¿Qué pasó el 5/3/2026? => 2026-03-05
¿Qué pasó el 5 de marzo de 2026? => 2026-03-05
¿Qué pasó el 5 de marzo del 2026? => 2026-03-05
¿Qué pasó el cinco de marzo? => 2026-03-05
¿Qué pasó el 1 de mayo? => 2025-05-01
¿Qué pasó el jueves 5 de marzo? => 2026-03-05
¿Qué se sabe del próximo 5 de mayo? => 2026-05-05
¿Qué dije en marzo? => 2026-03-01..2026-04-01
¿Qué dije en mayo? => 2025-05-01..2025-06-01
¿Qué dije en diciembre pasado? => 2025-12-01..2026-01-01
¿Qué dije en marzo del año pasado? => 2025-03-01..2025-04-01
¿Qué dije en marzo de 2024? => 2024-03-01..2024-04-01
¿Qué dije a finales de febrero? => 2026-02-01..2026-03-01
¿Qué firmamos en 2024? => 2024-01-01..2025-01-01
¿Qué firmamos en el año 2024? => 2024-01-01..2025-01-01
¿Qué hice de marzo a mayo? => 2025-03-01..2025-06-01
¿Qué hice del 3 al 7 de marzo? => 2026-03-03..2026-03-08
¿Qué hice entre enero y febrero de 2025? => 2025-01-01..2025-03-01
¿Qué pagamos entre 2022 y 2024? => 2022-01-01..2025-01-01
¿Qué hice desde el 3 hasta el 7 de marzo? => 2026-03-03..2026-03-08
";

const NONE: &str = r#"
¿Qué pasó la semana del 3 de mayo?
¿Qué pasó el día después del 3 de mayo?
¿Qué hago todos los lunes?
¿Dónde estoy los lunes?
¿Qué hago cada viernes?
¿Qué como todas las mañanas?
¿Qué pastilla tomo a diario?
¿Qué como normalmente el domingo?
¿Voy a ver a Ana el viernes?
Recuérdame el jueves que llame a Juan.
¿Cuántos años tiene mi sobrino de tres años?
¿Estuve dos semanas en Roma?
¿Qué proyecto dura dos semanas?
¿Quién escribió «El viernes pasado»?
¿Quién canta “Ayer”?
¿Cómo funciona la mañana en mi rutina?
¿Qué dije sobre Marte?
¿Qué opino de la mayonesa?
¿Qué dijo Abril sobre su trabajo?
¿Quién es Julio?
¿Dónde vive Domingo Pérez?
¿Qué dije del martes y trece?
¿Qué compré el Viernes Negro?
¿Dónde está la Plaza de Mayo?
¿Qué hice en Viernes Santo?
¿Cuánto cuesta, 2024 euros o 1999 pesos?
¿Mi número es 0171 2024 5555?
¿Qué es la Agenda 2030?
¿Qué hay en https://example.com/2026/03/05/ayer?
¿Qué imprime `date ayer`?
¿Dónde está el archivo informe-2026-03-05.pdf?
Resúmelo en 2000 palabras.
¿Mencioné Windows 2000?
¿Qué dije de la versión 5.3.1?
¿Qué día de la semana prefiero?
¿Qué dije de la casa de fin de semana?
¿En qué mes es mi cumpleaños?
¿Desde cuándo vivo aquí?
¿Qué dije hace unos días?
¿Qué dije hace mucho?
¿Qué dije hace más de 3 semanas?
¿Qué dije hace dos o tres semanas?
¿Qué pasó el último día del viaje?
¿Cómo fue la última semana del proyecto?
¿Hace frío en Madrid?
¿Cuándo empezó la reunión?
¿Qué está de moda hoy en día?
¿Qué pasó la última vez?
¿Trabajo de lunes a viernes?
¿Qué entrego para el lunes?
¿Qué dije un día?
¿Qué pasó 3 días antes de la boda?
¿Qué pasó al día siguiente?
¿Quién llegó tarde?
¿Dije buenas tardes o buenas noches?
¿Qué dije este fin?
¿Qué es una semana laboral?
¿Dónde queda la calle Dos de Mayo?
"#;

/// Questions in a chat, half of them without a time: `-`.
const CHAT: &str = r#"
oye, ¿cómo se llamaba el restaurante del que te hablé ayer? => 2026-03-17
busca la receta que mandé el domingo pasado => 2026-03-15
¿Qué dijo el médico de mi rodilla el mes pasado? => 2026-02-01..2026-03-01
¿Qué libros he leído este año? => 2026-01-01..2027-01-01
¿te acuerdas de cuando me quejé de mi jefe hace dos días? => 2026-03-16
¿Cómo se llamaba el chico que conocí el sábado por la noche? => 2026-03-14T18..2026-03-15T06
lista todo lo que comí hoy => 2026-03-18
¿Cómo dormí anoche? => 2026-03-17T18..2026-03-18T06
¿Cómo estuve de ánimo en las últimas dos semanas? => 2026-03-04..now
Resume nuestras charlas del jueves pasado. => 2026-03-12
¿Qué le prometí a Julia el viernes? => 2026-03-13
¿Qué tareas salieron de la reunión del lunes? => 2026-03-16
¿tomé mis pastillas esta mañana? => 2026-03-18T04..2026-03-18T12
¿qué te conté de mi viaje a Lisboa en octubre? => 2025-10-01..2025-11-01
Cuando llamé al banco en enero, ¿qué dijeron? => 2026-01-01..2026-02-01
¿De qué hablamos el 3 de febrero? => 2026-02-03
Muéstrame lo que escribí el 14 de febrero => 2026-02-14
¿Qué decía el correo del 14/02/2026? => 2026-02-14
¿Cuántos kilómetros corrí la semana pasada? => 2026-03-09..2026-03-16
¿Cuánto he adelgazado desde principios de febrero? => 2026-02-01..now
¿Qué ha cambiado desde el martes pasado? => 2026-03-17..now
Todo lo que anoté antes del viernes pasado, por favor => start..2026-03-13
¿Qué dije del proyecto hasta la semana pasada? => start..2026-03-16
¿Pasó algo después del 10 de marzo? => 2026-03-11..now
¿En qué trabajaba a finales de 2024? => 2024-01-01..2025-01-01
¿Qué escribió el casero hace tres meses? => 2025-12-01..2026-01-01
¿Qué dije de Tokio hace un año? => 2025-01-01..2026-01-01
¿Qué te pregunté hace una hora? => 2026-03-18T14:00:00..2026-03-18T15:00:00
¿Qué dije hace 45 minutos? => 2026-03-18T14:40:00..2026-03-18T14:50:00
¿En qué quedamos anteayer? => 2026-03-16
Háblame de mis citas de mañana => 2026-03-19
¿Qué llevo el próximo sábado? => 2026-03-21
¿Con quién comí el martes 10 de marzo? => 2026-03-10
¿Qué dije el 25/12/2025? => 2025-12-25
¿Qué anoté el 2026-02-28? => 2026-02-28
¿Compré las entradas el 12 de diciembre de 2025? => 2025-12-12
¿Qué salió en la terapia el miércoles pasado? => 2026-03-11
¿Qué dije ayer a las 5 de la tarde? => 2026-03-17
¿Cuántas veces medité del 1 al 10 de marzo? => 2026-03-01..2026-03-11
¿Cuánto gasté de enero a febrero? => 2026-01-01..2026-03-01
¿Cuáles eran nuestras metas del trimestre pasado? => 2025-10-01..2026-01-01
¿Qué canción me gustó tanto el fin de semana pasado? => 2026-03-14..2026-03-16
¿Qué dije de mi madre a principios de esta semana? => 2026-03-16..2026-03-23
¿Qué he hecho desde el domingo? => 2026-03-15..now
que dije el lunes en la mañana sobre la factura => 2026-03-16T04..2026-03-16T12
¿Qué dije en noviembre de 2025 sobre impuestos? => 2025-11-01..2025-12-01
¿Qué película vimos el sábado pasado por la tarde? => 2026-03-14T12..2026-03-14T21
¿Hubo algo del seguro en los últimos diez días? => 2026-03-08..now
¿Dónde pasé las vacaciones en 2023? => 2023-01-01..2024-01-01
¿Qué me dijiste ayer en la tarde? => 2026-03-17T12..2026-03-17T21
¿Cómo se llama mi hermana? => -
¿Qué alergias tengo? => -
¿Prefiero té o café? => -
¿Quién es mi dentista? => -
¿Cuál es la clave del wifi de la oficina? => -
¿Cómo tomo el café por la mañana? => -
¿A qué hora me levanto normalmente? => -
¿Tengo reunión todos los martes? => -
¿Cuándo es mi cumpleaños? => -
¿Cuándo empecé en mi trabajo? => -
¿Cuánto tiempo llevo casado? => -
¿Qué dije de los lunes tristes? => -
¿Abril viene a cenar? => -
¿Puedo preguntar qué sabes de mí? => -
¿En qué trabaja Julio? => -
¿Agosto es el nombre de mi gato? => -
¿A qué distancia está Marte del sol? => -
¿Cuál es mi segunda banda favorita? => -
¿Qué fue lo último que dije? => -
¿Qué fue lo primero que te conté? => -
¿Cuántos años tienen mis hijos? => -
Hazme un plan para los próximos tres días => -
Dame un minuto más => -
¿Qué día me conviene para entrenar? => -
Explícame el cierre del año => -
¿Qué dije de la guardería de día? => -
¿Quién actúa en «El día de la marmota»? => -
¿Mencioné los Juegos Olímpicos de París 2024? => -
¿Qué versión de Node uso, la 20.11.1? => -
¿Cómo se llamaba esa canción de los 90? => -
¿Me gustó la película El Mañana nunca muere? => -
¿Leo el diario Hoy? => -
¿Está guardada la receta del asado de domingo? => -
¿Qué dije del Miércoles de Ceniza? => -
¿Cuántas horas duró el vuelo? => -
Esperamos tres horas, ¿verdad? => -
¿Cuántos días de vacaciones me quedan? => -
¿Quién de mis amigos es ave nocturna? => -
¿Qué dije una vez sobre las noches? => -
¿Qué dije hace poco sobre los niños? => -
¿Qué dije entonces sobre los niños? => -
¿Qué dije el otro día en el coche? => -
Eso ya lo dije antes, ¿no? => -
¿Qué sigue después? => -
¿Cuál es el próximo paso? => -
¿Está hecho el último punto? => -
En este sentido, ¿qué opiné? => -
¿Cuánto pasado tiene esa historia? => -
¿Llegué tarde a la boda? => -
¿Qué quiero ser el día de mañana? => 2026-03-19
¿Soy de mañanas o de noches? => -
¿Me gusta más marzo o abril? => -
Ayer mencioné un pódcast, ¿cuál era? => 2026-03-17
La lista de tareas de hoy, por favor => 2026-03-18
La semana pasada te conté de un ruido en el coche. => 2026-03-09..2026-03-16
En los últimos 30 días, ¿cuántas veces fui al gimnasio? => 2026-02-16..now
¿Qué decía el correo del 7 de enero? => 2026-01-07
¿Qué planeamos el jueves 12 de marzo de 2026 al mediodía? => 2026-03-12T11..2026-03-12T14
¿Cómo fue la entrevista de hace dos semanas? => 2026-03-02..2026-03-09
¿Qué aprendí en los últimos seis meses? => 2025-09-18..now
¿Algo desde el 1 de marzo? => 2026-03-01..now
¿Qué dije entre el lunes y ayer? => 2026-03-16..2026-03-18
¿Fui a Roma en el último año? => 2025-03-18..now
¿Qué te dije a principios de 2025? => 2025-01-01..2026-01-01
¿Qué exámenes aprobé en 2019? => 2019-01-01..2020-01-01
¿Quién ganó el Mundial 2018? => -
Mi hijo tiene 3 días. => -
Vuelvo en 5 minutos => -
¿Qué anunció Apple en septiembre pasado? => 2025-09-01..2025-10-01
¿Qué dije el pasado 5 de marzo? => 2026-03-05
¿Qué hice el primer lunes de marzo? => -
¿Dónde estaba hace un año? => 2025-01-01..2026-01-01
Dime qué pasó el domingo a la noche => 2026-03-15T18..2026-03-16T06
¿Qué compré el mes antepasado? => 2026-01-01..2026-02-01
¿De qué se trató la llamada de ayer tarde? => 2026-03-17T12..2026-03-17T21
¿Qué hicimos durante el verano? => -
¿Hay noticias del boletín de este mes? => 2026-03-01..2026-04-01
¿Qué dije de mi jefe en la reunión de hoy? => 2026-03-18
¿Qué dije hoy temprano? => 2026-03-18T04..2026-03-18T12
¿Cuánto mide la mesa? => -
¿Qué dije sobre el pasado de mi abuelo? => -
¿Este mes o el que viene? => 2026-03-01..2026-04-01
¿Quedamos en vernos a las once? => -
¿Quién es el próximo presidente? => -
¿Qué opino de enero? => -
Tengo una cita el martes, ¿no? => -
El año que viene me caso. => 2027-01-01..2028-01-01
¿Qué dijo Marzo García? => -
¿Qué pasa en un mes normal? => -
¿Cuánto hace que vivo aquí? => -
¿Hace tres días que no duermo? => -
¿en qué quedamos en la llamada de esta tarde? => 2026-03-18T12..2026-03-18T21
busca lo de la hipoteca de mediados de enero => 2026-01-01..2026-02-01
¿mencioné dolores de cabeza en las últimas 6 semanas? => 2026-02-04..now
¿Dónde estuve entre el 10 y el 14 de marzo? => 2026-03-10..2026-03-15
¿Quién dije que nos visitaba el mes que viene? => 2026-04-01..2026-05-01
¿Qué escribí el 28 de febrero de 2025? => 2025-02-28
Te dije algo hace cinco semanas sobre visados. => 2026-02-09..2026-02-16
Revisa todo desde el 1 de febrero hasta el 7 de febrero => 2026-02-01..2026-02-08
Compara esta semana con la pasada semana. => 2026-03-16..2026-03-23 + 2026-03-09..2026-03-16
¿Qué salió en la revisión de diciembre de 2025? => 2025-12-01..2026-01-01
El jueves pasado por la mañana mandé un código, muéstralo. => 2026-03-12T04..2026-03-12T12
En 2022 cambié de trabajo; ¿qué dije de eso? => 2022-01-01..2023-01-01
¿El error ya salía antes del 2 de marzo? => start..2026-03-02
¿Qué dije de Maya desde esta mañana? => 2026-03-18T04..now
¿Tienes la lista de la compra de anteayer? => 2026-03-16
¿Qué fue lo mejor de las vacaciones en agosto pasado? => 2025-08-01..2025-09-01
¿Qué película vi el viernes en la noche? => 2026-03-13T18..2026-03-14T06
¿La reunión es a las 3? => -
Mi vuelo es el LH2024, ¿no? => -
¿Cómo pongo la fecha en PHP? => -
¿Le debo 300 o 2000 euros? => -
¿Qué diferencia hay entre turno de día y de noche? => -
¿Quién es Julio Cortázar? => -
¿Me gusta Miércoles Addams? => -
Traduce buenos días al finés. => -
Cuéntame una historia de últimas oportunidades. => -
¿Qué llevo la próxima vez? => -
¿Era un contrato de un año? => -
¿Por qué tarda semanas? => -
¿Cómo fue el día que conocí a Ana? => -
¿Qué hora es en Tokio? => -
¿Pasa el camión los martes? => -
¿Salgo de lunes a jueves? => -
¿Quién es mi tía Abril? => -
"#;
