<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
    <context>
        <name>Sightline</name>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>    left out: {marks}: {reason}</source>
            <translation>    weggelassen: {marks}: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>  (changed)</source>
            <translation>  (geändert)</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>  (new)</source>
            <translation>  (neu)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <location filename="../../app/views/models/model_tasks.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source> and </source>
            <translation> und </translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source> can be used.</source>
            <translation> kann verwendet werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source> minutes</source>
            <translation> Minuten</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source> mm</source>
            <translation> mm</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source> Set HF_TOKEN to your access token before you start Sightline.</source>
            <translation> Setzen Sie HF_TOKEN auf Ihr Zugriffstoken, bevor Sie Sightline starten.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source> The connection is not encrypted.</source>
            <translation> Die Verbindung ist nicht verschlüsselt.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source> tokens</source>
            <translation> Tokens</translation>
        </message>
        <message>
            <location filename="../../app/settings.py" />
            <source>"{0}" had an unusable value ({1}): the default is used.</source>
            <translation>„{0}“ hatte einen unbrauchbaren Wert ({1}): Der Standardwert wird verwendet.</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/attributes.py" />
            <source>%n attributes</source>
            <extracomment>Singular: %n attribute</extracomment>
            <translation>
                <numerusform>%n Attribut</numerusform>
                <numerusform>%n Attribute</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/models/model_wording.py" />
            <source>%n bytes</source>
            <extracomment>Singular: %n byte</extracomment>
            <translation>
                <numerusform>%n Byte</numerusform>
                <numerusform>%n Bytes</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/chat/plan_view.py" />
            <source>%n changes by rules</source>
            <extracomment>Singular: %n change by rules</extracomment>
            <translation>
                <numerusform>%n Änderung durch Regeln</numerusform>
                <numerusform>%n Änderungen durch Regeln</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n channels</source>
            <extracomment>Singular: %n channel</extracomment>
            <translation>
                <numerusform>%n Kanal</numerusform>
                <numerusform>%n Kanäle</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>%n copies</source>
            <extracomment>Singular: %n copy</extracomment>
            <translation>
                <numerusform>%n Kopie</numerusform>
                <numerusform>%n Kopien</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/chat/dock.py" />
            <source>%n damaged entries of this conversation could not be read.</source>
            <extracomment>Singular: %n damaged entry of this conversation could not be read.</extracomment>
            <translation>
                <numerusform>%n beschädigter Eintrag dieses Gesprächs konnte nicht gelesen werden.</numerusform>
                <numerusform>%n beschädigte Einträge dieses Gesprächs konnten nicht gelesen werden.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n days before</source>
            <extracomment>Singular: %n day before</extracomment>
            <translation>
                <numerusform>%n Tag zuvor</numerusform>
                <numerusform>%n Tage zuvor</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n depths</source>
            <extracomment>Singular: %n depth</extracomment>
            <translation>
                <numerusform>%n Tiefe</numerusform>
                <numerusform>%n Tiefen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n documents</source>
            <extracomment>Singular: %n document</extracomment>
            <translation>
                <numerusform>%n Dokument</numerusform>
                <numerusform>%n Dokumente</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/problem_list.py" />
            <location filename="../../app/views/deidentify_dialog.py" />
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>%n files</source>
            <extracomment>Singular: %n file</extracomment>
            <translation>
                <numerusform>%n Datei</numerusform>
                <numerusform>%n Dateien</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>%n files copied.</source>
            <extracomment>Singular: %n file copied.</extracomment>
            <translation>
                <numerusform>%n Datei kopiert.</numerusform>
                <numerusform>%n Dateien kopiert.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/problem_list.py" />
            <source>%n files could not be opened</source>
            <extracomment>Singular: %n file could not be opened</extracomment>
            <translation>
                <numerusform>%n Datei nicht geöffnet</numerusform>
                <numerusform>%n Dateien nicht geöffnet</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>%n files left out:</source>
            <extracomment>Singular: %n file left out:</extracomment>
            <translation>
                <numerusform>%n Datei weggelassen:</numerusform>
                <numerusform>%n Dateien weggelassen:</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/main_window.py" />
            <source>%n findings removed</source>
            <extracomment>Singular: %n finding removed</extracomment>
            <translation>
                <numerusform>%n Befund entfernt</numerusform>
                <numerusform>%n Befunde entfernt</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n frames</source>
            <extracomment>Singular: %n frame</extracomment>
            <translation>
                <numerusform>%n Frame</numerusform>
                <numerusform>%n Frames</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n images</source>
            <extracomment>Singular: %n image</extracomment>
            <translation>
                <numerusform>%n Bild</numerusform>
                <numerusform>%n Bilder</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/study_list.py" />
            <location filename="../../app/views/documents/report_document.py" />
            <location filename="../../app/views/wording.py" />
            <source>%n key images</source>
            <extracomment>Singular: %n key image</extracomment>
            <translation>
                <numerusform>%n Schlüsselbild</numerusform>
                <numerusform>%n Schlüsselbilder</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/audit/audit_window.py" />
            <source>%n lines</source>
            <extracomment>Singular: %n line</extracomment>
            <translation>
                <numerusform>%n Zeile</numerusform>
                <numerusform>%n Zeilen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>%n marks are being measured again. Nothing is written; try again in a moment.</source>
            <extracomment>Singular: %n mark is being measured again. Nothing is written; try again in a moment.</extracomment>
            <translation>
                <numerusform>%n Markierung wird neu gemessen. Nichts wird geschrieben; versuchen Sie es gleich noch einmal.</numerusform>
                <numerusform>%n Markierungen werden neu gemessen. Nichts wird geschrieben; versuchen Sie es gleich noch einmal.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/documents/report_marks.py" />
            <source>%n marks are there already</source>
            <extracomment>Singular: %n mark is there already</extracomment>
            <translation>
                <numerusform>%n Markierung ist schon da</numerusform>
                <numerusform>%n Markierungen sind schon da</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/documents/report_marks.py" />
            <source>%n marks left out: {reason}</source>
            <extracomment>Singular: %n mark left out: {reason}</extracomment>
            <translation>
                <numerusform>%n Markierung weggelassen: {reason}</numerusform>
                <numerusform>%n Markierungen weggelassen: {reason}</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/documents/report_marks.py" />
            <source>%n marks taken over</source>
            <extracomment>Singular: %n mark taken over</extracomment>
            <translation>
                <numerusform>%n Markierung übernommen</numerusform>
                <numerusform>%n Markierungen übernommen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/main_window.py" />
            <source>%n measurements made or corrected by hand</source>
            <extracomment>Singular: %n measurement made or corrected by hand</extracomment>
            <translation>
                <numerusform>%n von Hand gemachte oder korrigierte Messung</numerusform>
                <numerusform>%n von Hand gemachte oder korrigierte Messungen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/settings/model_page.py" />
            <source>%n models found: choose one in the list.</source>
            <extracomment>Singular: One model found: choose it in the list.</extracomment>
            <translation>
                <numerusform>Ein Modell gefunden: Wählen Sie es in der Liste.</numerusform>
                <numerusform>%n Modelle gefunden: Wählen Sie eines in der Liste.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/models/model_tasks.py" />
            <source>%n models read: all files are what they should be.</source>
            <extracomment>Singular: %n model read: all files are what they should be.</extracomment>
            <translation>
                <numerusform>%n Modell gelesen: Alle Dateien sind, wie sie sein sollen.</numerusform>
                <numerusform>%n Modelle gelesen: Alle Dateien sind, wie sie sein sollen.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n months before</source>
            <extracomment>Singular: %n month before</extracomment>
            <translation>
                <numerusform>%n Monat zuvor</numerusform>
                <numerusform>%n Monate zuvor</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/audit/audit_window.py" />
            <source>%n more below it are marked.</source>
            <extracomment>Singular: %n more below it is marked.</extracomment>
            <translation>
                <numerusform>%n weitere darunter ist markiert.</numerusform>
                <numerusform>%n weitere darunter sind markiert.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>%n more warnings</source>
            <extracomment>Singular: %n more warning</extracomment>
            <translation>
                <numerusform>%n weitere Warnung</numerusform>
                <numerusform>%n weitere Warnungen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>%n more warnings in the study list</source>
            <extracomment>Singular: %n more warning in the study list</extracomment>
            <translation>
                <numerusform>%n weitere Warnung in der Liste der Studien</numerusform>
                <numerusform>%n weitere Warnungen in der Liste der Studien</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n objects</source>
            <extracomment>Singular: %n object</extracomment>
            <translation>
                <numerusform>%n Objekt</numerusform>
                <numerusform>%n Objekte</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>%n other files in it are not needed and left out.</source>
            <extracomment>Singular: %n other file in it is not needed and left out.</extracomment>
            <translation>
                <numerusform>%n andere Datei darin wird nicht benötigt und ausgelassen.</numerusform>
                <numerusform>%n andere Dateien darin werden nicht benötigt und ausgelassen.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/notices.py" />
            <source>%n other reasons.</source>
            <extracomment>Singular: %n other reason.</extracomment>
            <translation>
                <numerusform>%n weiterer Grund.</numerusform>
                <numerusform>%n weitere Gründe.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n pages</source>
            <extracomment>Singular: %n page</extracomment>
            <translation>
                <numerusform>%n Seite</numerusform>
                <numerusform>%n Seiten</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n presentation states</source>
            <extracomment>Singular: %n presentation state</extracomment>
            <translation>
                <numerusform>%n Präsentationszustand</numerusform>
                <numerusform>%n Präsentationszustände</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/record/record_opening.py" />
            <source>%n problems in the record</source>
            <extracomment>Singular: %n problem in the record</extracomment>
            <translation>
                <numerusform>%n Problem in der Akte</numerusform>
                <numerusform>%n Probleme in der Akte</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n reports</source>
            <extracomment>Singular: %n report</extracomment>
            <translation>
                <numerusform>%n Bericht</numerusform>
                <numerusform>%n Berichte</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/record/record_opening.py" />
            <source>%n resources or files are not shown.</source>
            <extracomment>Singular: %n resource or file is not shown.</extracomment>
            <translation>
                <numerusform>%n Ressource oder Datei wird nicht gezeigt.</numerusform>
                <numerusform>%n Ressourcen oder Dateien werden nicht gezeigt.</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/mark_keeping.py" />
            <source>%n saved marks cannot be read</source>
            <extracomment>Singular: %n saved mark cannot be read</extracomment>
            <translation>
                <numerusform>%n gespeicherte Markierung ist nicht lesbar</numerusform>
                <numerusform>%n gespeicherte Markierungen sind nicht lesbar</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n segmentations</source>
            <extracomment>Singular: %n segmentation</extracomment>
            <translation>
                <numerusform>%n Segmentierung</numerusform>
                <numerusform>%n Segmentierungen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n sets of contours</source>
            <extracomment>Singular: %n set of contours</extracomment>
            <translation>
                <numerusform>%n Konturensatz</numerusform>
                <numerusform>%n Konturensätze</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/main_window.py" />
            <source>%n studies open</source>
            <extracomment>Singular: %n study open</extracomment>
            <translation>
                <numerusform>%n Studie geöffnet</numerusform>
                <numerusform>%n Studien geöffnet</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/report/report_files.py" />
            <location filename="../../app/views/report/report_panel.py" />
            <source>%n things to look at</source>
            <extracomment>Singular: %n thing to look at</extracomment>
            <translation>
                <numerusform>%n Punkt zu prüfen</numerusform>
                <numerusform>%n Punkte zu prüfen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n time points</source>
            <extracomment>Singular: %n time point</extracomment>
            <translation>
                <numerusform>%n Zeitpunkt</numerusform>
                <numerusform>%n Zeitpunkte</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>%n tools allowed</source>
            <extracomment>Singular: %n tool allowed</extracomment>
            <translation>
                <numerusform>%n Werkzeug erlaubt</numerusform>
                <numerusform>%n Werkzeuge erlaubt</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/problem_list.py" />
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>%n warnings</source>
            <extracomment>Singular: %n warning</extracomment>
            <translation>
                <numerusform>%n Warnung</numerusform>
                <numerusform>%n Warnungen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/problem_list.py" />
            <source>%n warnings about files</source>
            <extracomment>Singular: %n warning about files</extracomment>
            <translation>
                <numerusform>%n Warnung zu Dateien</numerusform>
                <numerusform>%n Warnungen zu Dateien</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n waveforms</source>
            <extracomment>Singular: %n waveform</extracomment>
            <translation>
                <numerusform>%n Wellenform</numerusform>
                <numerusform>%n Wellenformen</numerusform>
            </translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>%n y before</source>
            <extracomment>Singular: %n y before</extracomment>
            <translation>
                <numerusform>%n J. zuvor</numerusform>
                <numerusform>%n J. zuvor</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>&amp;File</source>
            <translation>&amp;Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>&amp;Findings</source>
            <translation>Be&amp;funde</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>&amp;Help</source>
            <translation>&amp;Hilfe</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>&amp;Image</source>
            <translation>&amp;Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>&amp;Tools</source>
            <translation>&amp;Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>&amp;View</source>
            <translation>&amp;Ansicht</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>(cannot be read)</source>
            <translation>(nicht lesbar)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/attachments.py" />
            <source>(frame {number})</source>
            <translation>(Einzelbild {number})</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>(no description)</source>
            <translation>(keine Beschreibung)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>({attempt} of {attempts})</source>
            <translation>({attempt} von {attempts})</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>, replaces what is installed</source>
            <translation>, ersetzt das installierte</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>, {closed:,} not open</source>
            <translation>, {closed} nicht geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/printing.py" />
            <source>1 mm on paper is 1 mm of the object (scale: {basis}).</source>
            <translation>1 mm auf dem Papier ist 1 mm des Objekts (Maßstab: {basis}).</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/printing.py" />
            <source>1 mm on paper is 1 mm on the detector; in the patient it is less.</source>
            <translation>1 mm auf dem Papier ist 1 mm auf dem Detektor; im Patienten ist es weniger.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>1 of {count}: choose in the findings</source>
            <translation>1 von {count}: in den Befunden wählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>: installed.</source>
            <translation>: installiert.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>: removed.</source>
            <translation>: entfernt.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>[ and ], Shift + wheel</source>
            <translation>[ und ], Umschalt + Rad</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/place_commands.py" />
            <source>a colour image has no values to average</source>
            <translation>ein Farbbild hat keine Werte, die sich mitteln lassen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>a compressed (gzip) file</source>
            <translation>eine komprimierte Datei (gzip)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>a concept name has neither meaning nor code</source>
            <translation>ein Begriff hat weder Bedeutung noch Code</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>A count, a ratio, a file's attributes: no language model is asked, and nothing is sent. Otherwise the model is asked every question.</source>
            <translation>Eine Anzahl, ein Verhältnis, die Attribute einer Datei: Kein Sprachmodell wird gefragt, und nichts wird gesendet. Sonst wird bei jeder Frage das Modell gefragt.</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>a CUDA pack is for packaged programs with the AI packages</source>
            <translation>ein CUDA-Paket ist für installierte Programme mit den KI-Paketen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>A device that this computer does not have is not used.</source>
            <translation>Ein Gerät, das dieser Computer nicht hat, wird nicht verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>a dialogue is open</source>
            <translation>ein Dialog ist offen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_objects.py" />
            <source>A DICOM object of an unknown kind (SOP Class {0}): not displayable</source>
            <translation>Ein DICOM-Objekt unbekannter Art (SOP Class {0}): nicht darstellbar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_objects.py" />
            <source>A DICOM object that does not say what it is: not displayable</source>
            <translation>Ein DICOM-Objekt, das nicht sagt, was es ist: nicht darstellbar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>a DICOMDIR, which names files; the copy has other names</source>
            <translation>ein DICOMDIR, das Dateien nennt; die Kopie hat andere Namen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>a document inside it may name the patient, and cannot be cleaned</source>
            <translation>ein Dokument darin nennt vielleicht den Patienten und kann nicht bereinigt werden</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/published_weights.py" />
            <source>a file of this model is missing or damaged</source>
            <translation>eine Datei dieses Modells fehlt oder ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>A file of your settings could not be used</source>
            <translation>Eine Datei Ihrer Einstellungen war nicht brauchbar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/written_report.py" />
            <source>a finding of the signed report has changed since it was signed</source>
            <translation>ein Befund des unterschriebenen Berichts wurde seit der Unterschrift geändert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/written_report.py" />
            <source>a finding that the signed report rests on is no longer accepted</source>
            <translation>ein Befund, auf dem der unterschriebene Bericht beruht, ist nicht mehr angenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>A folder outside of the originals</source>
            <translation>Ein Ordner außerhalb der Originale</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/arguments.py" />
            <source>a folder that is there already</source>
            <translation>ein bereits vorhandener Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>a GGUF file, or a folder of transformers files</source>
            <translation>eine GGUF-Datei oder ein Ordner mit Transformers-Dateien</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>a heatmap belongs to its image</source>
            <translation>eine Heatmap gehört zu ihrem Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <source>a heatmap has no form in it</source>
            <translation>eine Heatmap hat darin keine Form</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>A key will be kept in {new_place}, for {host} only; Sightline never writes it to a file.</source>
            <translation>Ein Schlüssel wird in {new_place} aufbewahrt, nur für {host}; Sightline schreibt ihn nie in eine Datei.</translation>
        </message>
        <message>
            <location filename="../../app/views/layer_loading.py" />
            <source>a label volume needs an image to be overlaid on, and none is shown</source>
            <translation>ein Label-Volumen braucht ein Bild, über das es gelegt wird, und es wird keines gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/arguments.py" />
            <source>a link leads there</source>
            <translation>ein Link führt dorthin</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>a locked finding is not deleted</source>
            <translation>ein gesperrter Befund wird nicht gelöscht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>a magnification of its own</source>
            <translation>eine eigene Vergrößerung</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>a mark of your own needs no review</source>
            <translation>eine eigene Markierung braucht keine Prüfung</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>A medical image viewer with a built-in assistant.</source>
            <translation>Ein Betrachter für medizinische Bilder mit eingebautem Assistenten.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/pane.py" />
            <location filename="../../app/views/canvas/synthetic_band.py" />
            <location filename="../../app/views/chat/tool_card.py" />
            <source>a model</source>
            <translation>einem Modell</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/missing_models.py" />
            <source>A model needed for this is not installed or not accepted: {names}.</source>
            <translation>Ein dafür benötigtes Modell ist nicht installiert oder nicht akzeptiert: {names}.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>a model pack is a .zip, .tar, .tar.gz or .tgz file</source>
            <translation>ein Modellpaket ist eine Datei .zip, .tar, .tar.gz oder .tgz</translation>
        </message>
        <message>
            <location filename="../../resources/tables/language_models.toml" />
            <source>A model that your organisation deployed in Azure.</source>
            <translation>Ein Modell, das Ihre Organisation in Azure bereitgestellt hat.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>a model's file cannot be read ({0})</source>
            <translation>eine Datei eines Modells ist nicht lesbar ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>A name has 1 to {most} characters.</source>
            <translation>Ein Name hat 1 bis {most} Zeichen.</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/arguments.py" />
            <source>a new file</source>
            <translation>eine neue Datei</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/session_file.py" />
            <source>a newer version of Sightline wrote this conversation (format {0})</source>
            <translation>eine neuere Version von Sightline hat dieses Gespräch geschrieben (Format {0})</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>A note seems to be about a patient or what an image shows, and nothing about patients is kept. It may say how you want things done. Without that it is: “{left}”</source>
            <translation>Eine Notiz scheint von einem Patienten zu handeln oder davon, was ein Bild zeigt, und über Patienten wird nichts behalten. Sie darf sagen, wie Sie etwas gemacht haben möchten. Ohne das lautet sie: „{left}“</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>a number or unit differs</source>
            <translation>eine Zahl oder Einheit ist anders</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/pdf_file.py" />
            <source>a page has no patient scale</source>
            <translation>eine Seite hat keinen Patientenmaßstab</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>a part is not drawn: {0}</source>
            <translation>ein Teil wird nicht gezeichnet: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>a part of its pixels is damaged or cut short</source>
            <translation>ein Teil der Pixel ist beschädigt oder abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>a part of the content is damaged and cannot be shown</source>
            <translation>ein Teil des Inhalts ist beschädigt und kann nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>a part of {0} x {1} pixels holds {2} x {3}</source>
            <translation>ein Teil von {0} x {1} Pixeln enthält {2} x {3}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>A picture cannot be shown, so none can be sent.</source>
            <translation>Ein Bild kann nicht gezeigt werden, also kann keines gesendet werden.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>a picture has no patient scale</source>
            <translation>ein Bild hat keinen Patientenmaßstab</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>A picture, exactly as shown below</source>
            <translation>Ein Bild, genau wie unten gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/layers.py" />
            <source>a picture, not labels</source>
            <translation>ein Bild, keine Labels</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>a plane of it is cut into {0} pieces, too many to be opened</source>
            <translation>eine Ebene davon ist in {0} Stücke geschnitten, zu viele, um geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveforms.py" />
            <source>a plot has no patient scale: seconds and units instead</source>
            <translation>eine Kurve hat keinen Patientenmaßstab: stattdessen Sekunden und Einheiten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_gsps.py" />
            <source>a presentation state holds images of one series, all grey or all colour</source>
            <translation>ein Präsentationsstatus enthält Bilder einer einzigen Serie, alle in Grau oder alle in Farbe</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>A price is a number of US dollars, e.g. 2.50; leave it empty if unknown.</source>
            <translation>Ein Preis ist ein Betrag in US-Dollar, z. B. 2.50; lassen Sie ihn leer, wenn er unbekannt ist.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>a print resolution is no patient scale: ignored</source>
            <translation>eine Druckauflösung ist kein Patientenmaßstab: nicht beachtet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>a private attribute</source>
            <translation>ein privates Attribut</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>A program of this computer</source>
            <translation>Ein Programm dieses Rechners</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>A program with its arguments; it runs with your rights. Quote what has spaces.</source>
            <translation>Ein Programm mit seinen Argumenten; es läuft mit Ihren Rechten. Was Leerzeichen hat, in Anführungszeichen.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>A quotation mark in the command is not closed.</source>
            <translation>Ein Anführungszeichen im Befehl ist nicht geschlossen.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>A record is open, no image</source>
            <translation>Eine Akte ist geöffnet, kein Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>A request is on its way to {host}, as you allowed.</source>
            <translation>Eine Anfrage ist unterwegs zu {host}, wie Sie es erlaubt haben.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>A series of the earlier study</source>
            <translation>Eine Serie der früheren Studie</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>A series of the study</source>
            <translation>Eine Serie der Studie</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>A server's name begins with a letter, and has small letters only.</source>
            <translation>Der Name eines Servers beginnt mit einem Buchstaben und hat nur Kleinbuchstaben, Ziffern und Unterstriche.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/whole_slide.py" />
            <source>a slide of {0} x {1} pixels, too large to be shown at once</source>
            <translation>ein Objektträger von {0} x {1} Pixeln, zu groß, um auf einmal gezeigt zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>a spacing of {0} x {1} mm ignored as impossible</source>
            <translation>ein Abstand von {0} x {1} mm als unmöglich nicht beachtet</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>a step</source>
            <translation>ein Schritt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>a text file</source>
            <translation>eine Textdatei</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>A text file with sections such as [TEACHER]. Empty: the program's own.</source>
            <translation>Eine Textdatei mit Abschnitten wie [TEACHER]. Leer: die des Programms.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>a text is on another host, which is not asked</source>
            <translation>ein Text liegt auf einem anderen Server, der nicht gefragt wird</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_files.py" />
            <source>a TIFF file cannot be larger than 4 GB</source>
            <translation>eine TIFF-Datei kann nicht größer als 4 GB sein</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>A title has 1 to 100 characters.</source>
            <translation>Ein Titel hat 1 bis 100 Zeichen.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>A tool found again what you had decided on</source>
            <translation>Ein Werkzeug hat wieder gefunden, worüber Sie entschieden hatten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>a video or a sound file</source>
            <translation>eine Video- oder Tondatei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>a voice may be recorded in it</source>
            <translation>eine Stimme ist vielleicht darin aufgenommen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>a volume of {0} slices is too large</source>
            <translation>ein Volumen aus {0} Schichten ist zu groß</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>a zip archive</source>
            <translation>ein Zip-Archiv</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Abatement</source>
            <translation>Ende</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Abdomen</source>
            <translation>Abdomen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>about ${amount}</source>
            <translation>etwa ${amount}</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>About Sightline</source>
            <translation>Über Sightline</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>About the chosen model</source>
            <translation>Zum gewählten Modell</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>About this model</source>
            <translation>Zu diesem Modell</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>About {least}, judging by its memory; exactly known once the host is contacted.</source>
            <translation>Etwa {least}, nach dem Speicherbedarf geschätzt; genau bekannt erst, wenn der Host gefragt ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Above the reference range</source>
            <translation>Über dem Referenzbereich</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <location filename="../../app/views/diagnosis/probability_bars.py" />
            <source>Above {percent} one treats</source>
            <translation>Über {percent} wird behandelt</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/lists.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Absent</source>
            <translation>Fehlt</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>absent {percent}</source>
            <translation>nicht vorhanden {percent}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Accept</source>
            <translation>Akzeptieren</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Accept all of this result</source>
            <translation>Alle dieses Ergebnisses annehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Accept finding</source>
            <translation>Befund annehmen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>Accept or draw a mask; other marks go into a structured report.</source>
            <translation>Nehmen Sie eine Maske an oder zeichnen Sie eine; andere Markierungen gehören in einen strukturierten Bericht.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sr.py" />
            <source>Accept or reject them first, or leave them out.</source>
            <translation>Nehmen Sie sie zuerst an oder lehnen Sie sie ab, oder lassen Sie sie weg.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Accept {names}?</source>
            <translation>{names} annehmen?</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>accept, edit, reject the selected finding</source>
            <translation>gewählten Befund annehmen, ändern, ablehnen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>accept, reject all of its result</source>
            <translation>alle seines Ergebnisses annehmen, ablehnen</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>accepted</source>
            <translation>angenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Accepted after the signature: {told}</source>
            <translation>Nach der Unterschrift angenommen: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Accepted by {name} on {time}</source>
            <translation>Angenommen von {name} am {time}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Accession number</source>
            <translation>Untersuchungsnummer</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>acquired</source>
            <translation>wie aufgenommen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>acquisition time</source>
            <translation>Aufnahmezeit</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Action</source>
            <translation>Aktion</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>active</source>
            <translation>aktiv</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Active: the left mouse button</source>
            <translation>Aktiv: die linke Maustaste</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Activities</source>
            <translation>Maßnahmen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Actual pixels</source>
            <translation>Originalpixel</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Add</source>
            <translation>Hinzufügen</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/server_tools.py" />
            <source>Add one under {0}, or set {1} to its address (and MCP_API_KEY to its key) before Sightline starts; then allow its tools there.</source>
            <translation>Fügen Sie unter {0} einen hinzu, oder setzen Sie {1} vor dem Start von Sightline auf seine Adresse (und MCP_API_KEY auf seinen Schlüssel); erlauben Sie dort dann seine Werkzeuge.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Add the missing</source>
            <translation>Fehlende ergänzen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Addendum</source>
            <translation>Nachtrag</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <source>Address</source>
            <translation>Adresse</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <location filename="../../app/views/browser/findings_list.py" />
            <source>AI findings</source>
            <translation>KI-Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>AI results: not for diagnosis</source>
            <translation>KI-Ergebnisse: nicht zur Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>AI: not for diagnosis</source>
            <translation>KI: nicht zur Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>aligned to another image</source>
            <translation>an einem anderen Bild ausgerichtet</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/registration.py" />
            <source>Aligning the lungs' outlines</source>
            <translation>Lungenumrisse werden zur Deckung gebracht</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_states.py" />
            <source>all cells are exactly alike, so there are no states to tell apart</source>
            <translation>alle Zellen sind genau gleich, es gibt also keine Zustände zu unterscheiden</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>All files</source>
            <translation>Alle Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <location filename="../../app/views/models/consent_dialog.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <source>All files (*)</source>
            <translation>Alle Dateien (*)</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>All kinds</source>
            <translation>Alle Arten</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/grounding.py" />
            <source>all pixels of this image have the same value</source>
            <translation>alle Pixel dieses Bildes haben denselben Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/results/table_pane.py" />
            <source>All rows as CSV…</source>
            <translation>Alle Zeilen als CSV …</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>All supported files</source>
            <translation>Alle unterstützten Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>All tools together.</source>
            <translation>Alle Werkzeuge zusammen.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>All {count} allowed</source>
            <translation>Alle {count} erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>All {lines:,} lines are as they were written, from {first} to {last}.</source>
            <translation>Alle {lines} Zeilen sind so, wie sie geschrieben wurden, von {first} bis {last}.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Allergies</source>
            <translation>Allergien</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allow</source>
            <translation>Erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allow all {count}</source>
            <translation>Alle {count} erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allow in this conversation</source>
            <translation>In diesem Gespräch erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allow none</source>
            <translation>Keinen erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allow once</source>
            <translation>Einmal erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Allow these tools</source>
            <translation>Diese Werkzeuge erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allow these {count} calls?</source>
            <translation>Diese {count} Aufrufe erlauben?</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>Allow these {count} steps?</source>
            <translation>Diese {count} Schritte erlauben?</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Allow this code to run</source>
            <translation>Ausführung dieses Codes erlauben</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/approvals.py" />
            <source>Allow {0}?</source>
            <translation>{0} erlauben?</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allowed</source>
            <translation>Erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <source>allowed</source>
            <translation>erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allowed in this conversation</source>
            <translation>In diesem Gespräch erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Allowed once</source>
            <translation>Einmal erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Allowed since Sightline was started</source>
            <translation>Erlaubt, seit Sightline gestartet wurde</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/settings/tools_page.py" />
            <source>allowed: %n calls, exactly as asked</source>
            <extracomment>Singular: allowed: one call, exactly as asked</extracomment>
            <translation>
                <numerusform>erlaubt: ein Aufruf, genau wie gefragt</numerusform>
                <numerusform>erlaubt: %n Aufrufe, genau wie gefragt</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Allowed; you are asked again about those that may identify the patient</source>
            <translation>Erlaubt; nach denen, die den Patienten erkennen lassen könnten, werden Sie erneut gefragt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/projections.py" />
            <source>along the body</source>
            <translation>entlang des Körpers</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>Also send pictures to {0}?</source>
            <translation>Auch Bilder an {0} senden?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Also under View &gt; Theme. Images are on black in every theme.</source>
            <translation>Auch unter Ansicht &gt; Farben. Bilder stehen immer auf Schwarz.</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Also what is only proposed; it is labelled as not reviewed</source>
            <translation>Auch nur Vorgeschlagenes; es wird als nicht geprüft gekennzeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>amended</source>
            <translation>ergänzt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>An address (JSON-RPC at /mcp, /rpc or /analyze)</source>
            <translation>Eine Adresse (JSON-RPC unter /mcp, /rpc oder /analyze)</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>An address (streamable HTTP)</source>
            <translation>Eine Adresse (Streamable HTTP)</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>an address that contains a user name or password is not used</source>
            <translation>eine Adresse mit Benutzername oder Passwort wird nicht verwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>An earlier study of the patient is open</source>
            <translation>Eine frühere Studie des Patienten ist offen</translation>
        </message>
        <message>
            <location filename="../../app/workspace/hanging.py" />
            <source>an earlier study of the patient is open</source>
            <translation>eine Voruntersuchung des Patienten ist geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>an entry that the record itself marks as entered in error is left out</source>
            <translation>ein Eintrag, den die Akte selbst als irrtümlich erfasst kennzeichnet, bleibt weg</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>An estimate, for models whose prices are entered on their page.</source>
            <translation>Eine Schätzung, für Modelle, deren Preise auf ihrer Seite eingetragen sind.</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>an identical copy of what is there already, which is shown once</source>
            <translation>eine gleiche Kopie von schon Vorhandenem, das einmal gezeigt wird</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>an image that is not open</source>
            <translation>ein nicht geöffnetes Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>an item refers to another one that is not in the document</source>
            <translation>ein Element verweist auf ein anderes, das nicht im Dokument ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>an item without a number</source>
            <translation>ein Element ohne Nummer</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>an NRRD volume of an unknown version</source>
            <translation>ein NRRD-Volumen unbekannter Version</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>an overlay is embedded in its compressed pixels and cannot be removed</source>
            <translation>ein Overlay steckt in den komprimierten Pixeln und kann nicht entfernt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>an unexpected error ({0})</source>
            <translation>ein unerwarteter Fehler ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>an unnamed user</source>
            <translation>einem Benutzer ohne Namen</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/server_tools.py" />
            <source>Analyse a document (MCP)</source>
            <translation>Dokument auswerten (MCP)</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>analyze_medical_image can look at a picture of an ECG.</source>
            <translation>analyze_medical_image kann ein Bild eines EKG ansehen.</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/browser/problem_list.py" />
            <source>and %n other reasons</source>
            <extracomment>Singular: and %n other reason</extracomment>
            <translation>
                <numerusform>und %n weiterer Grund</numerusform>
                <numerusform>und %n weitere Gründe</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>and {count:,} more</source>
            <translation>und {count} weitere</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>and {count} more queued</source>
            <translation>und {count} weitere eingereiht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>and {left} more</source>
            <translation>und {left} weitere</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/problem_list.py" />
            <source>and {more:,} more</source>
            <translation>und {more} weitere</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Angiography</source>
            <translation>Angiographie</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Angle</source>
            <translation>Winkel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>another file with the same SOP Instance UID was copied, this one differs</source>
            <translation>eine andere Datei mit derselben SOP Instance UID wurde kopiert, diese ist anders</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>another patient has the same id ({0}); only the first is shown</source>
            <translation>ein anderer Patient hat dieselbe Kennung ({0}); nur der erste wird gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>another patient has the same Study Instance UID: check whose images these are</source>
            <translation>ein anderer Patient hat dieselbe Study Instance UID: Prüfen Sie, wessen Bilder dies sind</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>another patient, with another name or date of birth, has the same Patient ID: check whose images these are</source>
            <translation>ein anderer Patient, mit anderem Namen oder Geburtsdatum, hat dieselbe Patient ID: Prüfen Sie, wessen Bilder dies sind</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>another place in the plane</source>
            <translation>ein anderer Ort in der Ebene</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Another report is shown now. Nothing was changed.</source>
            <translation>Es wird jetzt ein anderer Bericht gezeigt. Nichts wurde geändert.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/folder_changes.py" />
            <source>another Sightline is installing, fetching, packing or removing a model</source>
            <translation>ein anderes Sightline installiert, lädt, packt oder entfernt gerade ein Modell</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>another study is shown now, and stays as it is</source>
            <translation>jetzt wird eine andere Studie gezeigt, sie bleibt, wie sie ist</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>Another study is shown now: nothing was saved</source>
            <translation>Jetzt wird eine andere Studie gezeigt: Es wurde nichts gespeichert</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>another version of {0}, which is there more than once; only one is shown</source>
            <translation>eine andere Fassung von {0}, das mehrmals da ist; nur eine wird gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Answer again; this answer stays as an earlier version</source>
            <translation>Neu antworten; diese Antwort bleibt als frühere Fassung</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Answered</source>
            <translation>Beantwortet</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>Answered by rules</source>
            <translation>Von Regeln beantwortet</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Answers</source>
            <translation>Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Answers cite this result as [{evidence}]</source>
            <translation>Antworten zitieren dieses Ergebnis als [{evidence}]</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Answers for a conversation</source>
            <translation>Antworten für ein Gespräch</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/anthropic_model.py" />
            <source>Anthropic's models need the package "anthropic", which is not installed</source>
            <translation>Für die Modelle von Anthropic fehlt das Paket „anthropic“</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Any</source>
            <translation>Beliebig</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>any, or such as chest, thorax</source>
            <translation>beliebig, oder etwa chest, thorax</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>any, or such as CT, MR</source>
            <translation>beliebig, oder etwa CT, MR</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>any, or such as PA, LATERAL, CC</source>
            <translation>beliebig, oder etwa PA, LATERAL, CC</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Anything else that acts on this computer.</source>
            <translation>Alles andere, was auf diesen Computer wirkt.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Aorta</source>
            <translation>Aorta</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>API version</source>
            <translation>API-Version</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Appearance</source>
            <translation>Aussehen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Apply</source>
            <translation>Übernehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Approval needed: {title}</source>
            <translation>Genehmigung nötig: {title}</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Approvals</source>
            <translation>Genehmigungen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>Archives</source>
            <translation>Archive</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Area cm²</source>
            <translation>Fläche cm²</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Area px</source>
            <translation>Fläche px</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>arrange by hanging protocol</source>
            <translation>nach Hängeprotokoll anordnen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Arrange by protocol</source>
            <translation>Nach Protokoll anordnen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>Arrange the viewports, then choose “Keep this layout for studies like this”.</source>
            <translation>Ordnen Sie die Viewports an und wählen Sie dann „Dieses Layout für solche Studien behalten“.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/analysis_visualizer.py" />
            <source>Arranging cells</source>
            <translation>Zellen werden angeordnet</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Arrow</source>
            <translation>Pfeil</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Arrows</source>
            <translation>Pfeiltasten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>as above</source>
            <translation>wie oben</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>As acquired</source>
            <translation>Wie aufgenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>as it is</source>
            <translation>wie sie ist</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>As it would be sent</source>
            <translation>So, wie es gesendet würde</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>As its label</source>
            <translation>Wie ihre Bezeichnung</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>as its publisher offers it</source>
            <translation>wie der Herausgeber ihn anbietet</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>As on the screen</source>
            <translation>Wie auf dem Bildschirm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_gsps.py" />
            <source>As shown in Sightline</source>
            <translation>Wie in Sightline gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>As the computer</source>
            <translation>Wie der Computer</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Ask</source>
            <translation>Fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Ask a question…</source>
            <translation>Stellen Sie eine Frage…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Ask about this image</source>
            <translation>Fragen Sie zu diesem Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Ask about this image…</source>
            <translation>Fragen Sie zu diesem Bild…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Ask about this record</source>
            <translation>Fragen Sie zu dieser Akte</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <location filename="../../app/views/chat/run_view.py" />
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Ask again</source>
            <translation>Erneut fragen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/generator.py" />
            <source>Ask again with another seed or other words.</source>
            <translation>Fragen Sie erneut mit einem anderen Startwert oder anderen Worten.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/generator.py" />
            <source>Ask again with more steps. If it happens again, its files may be damaged: see the model panel.</source>
            <translation>Fragen Sie erneut mit mehr Schritten. Geschieht es wieder, sind seine Dateien womöglich beschädigt: siehe das Modellfenster.</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/protocol.py" />
            <location filename="../../app/tools/record/imaging.py" />
            <source>Ask again, or choose another model.</source>
            <translation>Noch einmal fragen oder ein anderes Modell wählen.</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/model_turn.py" />
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>Ask again.</source>
            <translation>Fragen Sie noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/serving.py" />
            <source>Ask again: the present files are then used.</source>
            <translation>Fragen Sie erneut: Dann werden die vorhandenen Dateien verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/pdf_file.py" />
            <source>Ask for a copy without one</source>
            <translation>Bitten Sie um eine Kopie ohne ein solches</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>Ask for a new export</source>
            <translation>Bitten Sie um einen neuen Export</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_data.py" />
            <source>Ask for a plot by a column of fewer different values.</source>
            <translation>Bitten Sie um ein Diagramm nach einer Spalte mit weniger verschiedenen Werten.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/pixels/regions.py" />
            <source>Ask for a smaller region, or a level with fewer pixels</source>
            <translation>Einen kleineren Ausschnitt oder eine Ebene mit weniger Pixeln anfordern</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Ask for a token that may read this patient.</source>
            <translation>Lassen Sie sich ein Token geben, das diesen Patienten lesen darf.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>Ask for access, or copy it to a folder of your own</source>
            <translation>Bitten Sie um Zugriff oder kopieren Sie es in einen eigenen Ordner</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>Ask for an export in RGB</source>
            <translation>Bitten Sie um einen Export in RGB</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>Ask for an export with the pixels in the file</source>
            <translation>Bitten Sie um einen Export mit den Pixeln in der Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>Ask for an export without compression</source>
            <translation>Bitten Sie um einen Export ohne Kompression</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>Ask for an export without compression, or in JPEG 2000</source>
            <translation>Bitten Sie um einen Export ohne Kompression oder in JPEG 2000</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_data.py" />
            <location filename="../../app/tools/plots.py" />
            <source>Ask for it again.</source>
            <translation>Bitten Sie erneut darum.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Ask for less.</source>
            <translation>Fragen Sie nach weniger.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Ask for R4.</source>
            <translation>Bitten Sie um R4.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>Ask for the right to write into the settings folder</source>
            <translation>Bitten Sie um das Schreibrecht für den Einstellungsordner</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>Ask for the wording again.</source>
            <translation>Erneut um die Formulierung bitten.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/model_results.py" />
            <source>Ask in other words, or another tool.</source>
            <translation>Fragen Sie mit anderen Worten oder ein anderes Werkzeug.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>Ask its source for it in several files</source>
            <translation>Bitten Sie die Quelle um mehrere Dateien</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_med.py" />
            <source>Ask LLaVA-Med</source>
            <translation>LLaVA-Med fragen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/medgemma.py" />
            <source>Ask MedGemma</source>
            <translation>MedGemma fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Ask one by one</source>
            <translation>Einzeln fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>Ask the assistant about the image. What its tools find is listed here.</source>
            <translation>Fragen Sie den Assistenten zum Bild. Was seine Werkzeuge finden, steht hier.</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/protocol.py" />
            <source>Ask the assistant, or use `sightline eval agentclinic`.</source>
            <translation>Fragen Sie den Assistenten, oder verwenden Sie `sightline eval agentclinic`.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/expert.py" />
            <source>Ask the chest expert</source>
            <translation>Thorax-Experten fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Ask the endpoint which models it has</source>
            <translation>Den Endpunkt fragen, welche Modelle er hat</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Ask the server</source>
            <translation>Server fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Ask this</source>
            <translation>Das fragen</translation>
        </message>
        <message>
            <location filename="../../app/audit/log.py" />
            <source>Ask this computer's administrator for access to the settings folder.</source>
            <translation>Bitten Sie den Administrator dieses Computers um Zugriff auf den Einstellungsordner.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>Ask this computer's administrator for the right to read it, or install the model again.</source>
            <translation>Bitten Sie den Administrator dieses Computers um das Leserecht, oder installieren Sie das Modell erneut.</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Ask this computer's administrator for the right to read its folder.</source>
            <translation>Bitten Sie den Administrator dieses Computers um das Leserecht für den Ordner.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>Ask who made it to run `chmod -R a+rX {0}`.</source>
            <translation>Wer ihn angelegt hat, soll `chmod -R a+rX {0}` ausführen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>Ask whoever runs the server.</source>
            <translation>Fragen Sie, wer den Server betreibt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Ask: {text}</source>
            <translation>Fragen: {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Asked about again from the next call on</source>
            <translation>Ab dem nächsten Aufruf wird wieder gefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Asked one by one</source>
            <translation>Einzeln gefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>asking again in {left} s</source>
            <translation>neue Anfrage in {left} s</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>asking again now</source>
            <translation>neue Anfrage läuft</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Asking the endpoint for its models…</source>
            <translation>Der Endpunkt wird nach seinen Modellen gefragt…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Asking the endpoint…</source>
            <translation>Der Endpunkt wird gefragt…</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>Asking the server</source>
            <translation>Der Server wird gefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Asking {name} for its tools…</source>
            <translation>{name} wird nach seinen Werkzeugen gefragt …</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>asks</source>
            <translation>fragt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Asks in the chat</source>
            <translation>Fragt im Chat</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <location filename="../../app/views/window_docks.py" />
            <source>Assistant</source>
            <translation>Assistent</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Assistant memory</source>
            <translation>Gedächtnis</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/answer.py" />
            <source>Assistant's answer</source>
            <translation>Antwort des Assistenten</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Atelectasis</source>
            <translation>Atelektase</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Attach files</source>
            <translation>Dateien anhängen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/attachments.py" />
            <source>Attached file: {name}</source>
            <translation>Angehängte Datei: {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/attachments.py" />
            <source>Attached to the question</source>
            <translation>An die Frage angehängt</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>Attributes</source>
            <translation>Attribute</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Attributes and reports of the open study.</source>
            <translation>Attribute und Berichte der geöffneten Studie.</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Audit log</source>
            <translation>Audit-Protokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Audit log…</source>
            <translation>Audit-Protokoll…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/pixels/windows.py" />
            <source>auto</source>
            <translation>automatisch</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <source>Automatic</source>
            <translation>Automatisch</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>automatic</source>
            <translation>automatisch</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Automatic window for this channel</source>
            <translation>Automatische Fensterung für diesen Kanal</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Automatic window for {name}</source>
            <translation>Automatische Fensterung für {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>available</source>
            <translation>verfügbar</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Axial</source>
            <translation>Axial</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>axial</source>
            <translation>axial</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>axial, coronal, sagittal; as acquired</source>
            <translation>axial, koronar, sagittal; wie aufgenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/session_page.py" />
            <source>Back</source>
            <translation>Zurück</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>back to the window tool, deselect, show all viewports</source>
            <translation>zurück zum Fenstern, Auswahl aufheben, alle Ansichten zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>Bank card</source>
            <translation>Bankkarte</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>Bar to be made as wide as a bank card</source>
            <translation>Balken, der so breit wie eine Bankkarte gemacht wird</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Before any finding</source>
            <translation>Vor jedem Befund</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <location filename="../../app/views/diagnosis/probability_bars.py" />
            <source>Before any finding: {percent}</source>
            <translation>Vor jedem Befund: {percent}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Before any finding: {percent}, set by hand; the table has {table}</source>
            <translation>Vor jedem Befund: {percent}, von Hand gesetzt; in der Tabelle steht {table}</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>being measured again</source>
            <translation>wird neu gemessen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Below the reference range</source>
            <translation>Unter dem Referenzbereich</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <location filename="../../app/views/diagnosis/probability_bars.py" />
            <source>Below {percent} one stops testing</source>
            <translation>Unter {percent} wird nicht weiter untersucht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_report.py" />
            <source>Best illustration of finding</source>
            <translation>Beste Darstellung des Befunds</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Best in set</source>
            <translation>Bestes Bild der Reihe</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/window_hint.py" />
            <source>Better window</source>
            <translation>Besseres Fenster</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Bidirectional</source>
            <translation>Zwei Durchmesser</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Birth date</source>
            <translation>Geburtsdatum</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Birth sex</source>
            <translation>Geburtsgeschlecht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>bits beyond the stored ones were cleared in its pixels: compare its picture with the original</source>
            <translation>Bits außerhalb der gespeicherten wurden in den Pixeln gelöscht: vergleichen Sie das Bild mit dem Original</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Blank what lies in %n marked boxes, on all images of their series</source>
            <extracomment>Singular: Blank what lies in %n marked box, on all images of its series</extracomment>
            <translation>
                <numerusform>Überdecken, was in %n markierten Kasten liegt, auf allen Bildern der Serie</numerusform>
                <numerusform>Überdecken, was in %n markierten Kästen liegt, auf allen Bildern ihrer Serien</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Blank what lies in marked boxes: mark boxes over the text first (B)</source>
            <translation>Überdecken, was in markierten Kästen liegt: markieren Sie zuerst Kästen über dem Text (B)</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Blue</source>
            <translation>Blau</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Body part or words</source>
            <translation>Körperteil oder Wörter</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Body site</source>
            <translation>Körperstelle</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Bone</source>
            <translation>Knochen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Born</source>
            <translation>Geboren</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>born {born}</source>
            <translation>geb. {born}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>born {date}</source>
            <translation>geboren {date}</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Box</source>
            <translation>Rechteck</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Boxes and outlines</source>
            <translation>Rechtecke und Umrisse</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>boxes cannot be blanked in pixels of its byte order (big endian)</source>
            <translation>in Pixeln dieser Bytefolge (Big Endian) können Kästen nicht überdeckt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>boxes cannot be blanked in pixels of its kind</source>
            <translation>in Pixeln dieser Art können Kästen nicht überdeckt werden</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Brain</source>
            <translation>Gehirn</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Branch from here…</source>
            <translation>Ab hier verzweigen…</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>Bring it as a file or folder: `models install PATH`.</source>
            <translation>Bringen Sie es als Datei oder Ordner mit: `models install PFAD`.</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Browse…</source>
            <translation>Durchsuchen…</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>brush size</source>
            <translation>Pinselgröße</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>bundles are nested too deeply</source>
            <translation>Bundles sind zu tief verschachtelt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>Busy</source>
            <translation>Beschäftigt</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>by hand</source>
            <translation>von Hand</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>By the rules below</source>
            <translation>Nach den Regeln unten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>By this computer's administrator. {text}</source>
            <translation>Vom Administrator dieses Computers. {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>By what a tool does</source>
            <translation>Nach dem, was ein Werkzeug tut</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/clinical_score.py" />
            <source>Calculate a clinical score</source>
            <translation>Klinischen Score berechnen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_score.py" />
            <source>Calculate a score from the record</source>
            <translation>Score aus der Akte berechnen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Calibrate</source>
            <translation>Kalibrieren</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Calibrate by this length</source>
            <translation>Nach dieser Länge kalibrieren</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Calibrate by this length…</source>
            <translation>Nach dieser Länge kalibrieren…</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>Calibrate the screen</source>
            <translation>Bildschirm kalibrieren</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Calibrate the screen…</source>
            <translation>Bildschirm kalibrieren…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>calibrated</source>
            <translation>kalibriert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>calibrated by hand</source>
            <translation>von Hand kalibriert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>calls</source>
            <translation>Aufrufe</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>calls its greys {0}</source>
            <translation>nennt seine Grauwerte {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Calls per step</source>
            <translation>Aufrufe je Schritt</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/plane_switch.py" />
            <location filename="../../app/views/chat/message.py" />
            <location filename="../../app/views/mark_dialogs.py" />
            <location filename="../../app/views/mark_menu.py" />
            <location filename="../../app/views/models/consent_dialog.py" />
            <location filename="../../app/views/models/model_tasks.py" />
            <location filename="../../app/views/pictures/export_dialog.py" />
            <location filename="../../app/views/preset_dialog.py" />
            <location filename="../../app/views/record/record_panel.py" />
            <location filename="../../app/views/record/source_dialog.py" />
            <location filename="../../app/views/screen_calibration.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <location filename="../../app/views/slice_paste.py" />
            <source>Cancel</source>
            <translation>Abbrechen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>cancelled</source>
            <translation>abgebrochen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_captioner.py" />
            <source>Caption the image</source>
            <translation>Bild beschreiben</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Cardiomegaly</source>
            <translation>Kardiomegalie</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <location filename="../../app/workspace/drawing.py" />
            <source>Cardiothoracic ratio</source>
            <translation>Herz-Thorax-Quotient</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Care plans</source>
            <translation>Behandlungspläne</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Category</source>
            <translation>Kategorie</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Centre</source>
            <translation>Zentrum</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Centre of the window</source>
            <translation>Zentrum des Fensters</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>centre: the image's own</source>
            <translation>Zentrum: das des Bildes</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <location filename="../../app/tools/general/volume_wording.py" />
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Change</source>
            <translation>Veränderung</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Change shortcuts…</source>
            <translation>Tastenkürzel ändern…</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>Change the words or the filter above.</source>
            <translation>Ändern Sie oben die Wörter oder den Filter.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>Change what is shown</source>
            <translation>Anzeige ändern</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Change: the text says “{told}”, the comparison found: {true}</source>
            <translation>Veränderung: Der Text sagt „{told}“, der Vergleich ergab: {true}</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>changed</source>
            <translation>geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Changed after the signature: {told}</source>
            <translation>Nach der Unterschrift geändert: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Changed by a rule: {change}</source>
            <translation>Durch eine Regel geändert: {change}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>changed by hand</source>
            <translation>von Hand geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Changed question</source>
            <translation>Geänderte Frage</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Channels</source>
            <translation>Kanäle</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Channels together</source>
            <translation>Kanäle zusammen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>channels together or one; previous, next channel</source>
            <translation>Kanäle zusammen oder einer; voriger, nächster Kanal</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Check every line against the log's key</source>
            <translation>Jede Zeile gegen den Schlüssel des Protokolls prüfen</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/published_weights.py" />
            <source>Check it with `{0} models verify`, then get or install the model again.</source>
            <translation>Prüfen Sie es mit `{0} models verify`, dann beschaffen oder installieren Sie das Modell erneut.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/segmentation.py" />
            <source>Check that it is a frontal chest radiograph.</source>
            <translation>Prüfen Sie, ob es eine frontale Thoraxaufnahme ist.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/image_suitability.py" />
            <source>Check that it was exposed and sent correctly, or open another image.</source>
            <translation>Prüfen Sie, ob es richtig belichtet und gesendet wurde, oder öffnen Sie ein anderes Bild.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_states.py" />
            <source>Check that the crops show cells: the image may be blank, or the channel wrong.</source>
            <translation>Prüfen Sie, ob die Ausschnitte Zellen zeigen: Das Bild kann leer sein oder der Kanal falsch.</translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <source>Check that the settings folder can be written to.</source>
            <translation>Prüfen Sie, ob in den Einstellungsordner geschrieben werden kann.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Check the address and the network.</source>
            <translation>Prüfen Sie die Adresse und das Netz.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Check the address.</source>
            <translation>Prüfen Sie die Adresse.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>Check the disk or the network drive</source>
            <translation>Prüfen Sie den Datenträger oder das Netzlaufwerk</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/bayes.py" />
            <source>Check the findings: one of them, or its likelihood ratio, is wrong.</source>
            <translation>Prüfen Sie die Befunde: Einer davon oder sein Likelihood-Quotient ist falsch.</translation>
        </message>
        <message>
            <location filename="../../app/views/startup_actions.py" />
            <source>Check the folder and its free space, and use a name that ends in .png or .jpg.</source>
            <translation>Prüfen Sie den Ordner und seinen freien Platz, und verwenden Sie einen Namen, der auf .png oder .jpg endet.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_files.py" />
            <source>Check the folder's permissions and the space on the disk</source>
            <translation>Prüfen Sie die Rechte des Ordners und den Platz auf dem Datenträger</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Check the id, number or name.</source>
            <translation>Prüfen Sie Kennung, Nummer oder Name.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>Check the path</source>
            <translation>Prüfen Sie den Pfad</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Check the picture before you hand it on. {risk}</source>
            <translation>Prüfen Sie das Bild, bevor Sie es weitergeben. {risk}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Check whether it is {title}</source>
            <translation>Prüfen, ob es {title} ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>Check which of the two is right</source>
            <translation>Prüfen Sie, welches der beiden richtig ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>Check which of them are right</source>
            <translation>Prüfen Sie, welche davon richtig sind</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Checking every line…</source>
            <translation>Alle Zeilen werden geprüft…</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_registration.py" />
            <source>Checking the registration</source>
            <translation>Die Registrierung wird geprüft</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Checks of the report</source>
            <translation>Prüfungen des Berichts</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>Chest findings</source>
            <translation>Thoraxbefunde</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/plan.py" />
            <source>Chest radiographs</source>
            <translation>Thoraxaufnahmen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>Chest segmentation</source>
            <translation>Thoraxsegmentierung</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/chest-prior.toml" />
            <source>Chest: current beside prior</source>
            <translation>Thorax: aktuell neben Voraufnahme</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/chest.toml" />
            <source>Chest: frontal and lateral</source>
            <translation>Thorax: frontal und seitlich</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>CheXagent</source>
            <translation>CheXagent</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Choose a colour</source>
            <translation>Farbe wählen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Choose a file…</source>
            <translation>Datei wählen…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Choose a folder of transformers files</source>
            <translation>Ordner mit Transformers-Dateien wählen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>Choose a folder outside of the one that is copied.</source>
            <translation>Wählen Sie einen Ordner außerhalb dessen, der kopiert wird.</translation>
        </message>
        <message>
            <location filename="../../app/agent/request.py" />
            <location filename="../../app/views/results/exporting.py" />
            <source>Choose a folder with free space that you may write to.</source>
            <translation>Wählen Sie einen Ordner mit freiem Platz, in den Sie schreiben dürfen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>Choose a folder with {0} files</source>
            <translation>Wählen Sie einen Ordner mit Dateien der Art {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Choose a folder…</source>
            <translation>Ordner wählen…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Choose a GGUF file</source>
            <translation>GGUF-Datei wählen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Choose a model file</source>
            <translation>Modelldatei wählen</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/tool_model.py" />
            <source>Choose a model with vision.</source>
            <translation>Wählen Sie ein Modell, das Bilder annimmt.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>Choose a presentation</source>
            <translation>Leitsymptom wählen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>Choose a presentation…</source>
            <translation>Leitsymptom wählen…</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>Choose a range of slices without it.</source>
            <translation>Wählen Sie einen Bereich von Schichten ohne sie.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/session_page.py" />
            <source>Choose a session: its steps, its notes and its diagnosis are shown.</source>
            <translation>Wählen Sie eine Sitzung: Ihre Schritte, Notizen und Diagnose werden gezeigt.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_files.py" />
            <source>Choose a smaller size, or numbered PNG files</source>
            <translation>Wählen Sie eine kleinere Größe oder nummerierte PNG-Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>choose a window preset</source>
            <translation>eine Fenstervorgabe wählen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/process.py" />
            <source>Choose another folder.</source>
            <translation>Wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Choose another kind, or search for another word.</source>
            <translation>Wählen Sie eine andere Art oder suchen Sie nach einem anderen Wort.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_files.py" />
            <source>Choose another name or an empty folder</source>
            <translation>Wählen Sie einen anderen Namen oder einen leeren Ordner</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>Choose another name.</source>
            <translation>Wählen Sie einen anderen Namen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>Choose another.</source>
            <translation>Wählen Sie einen anderen.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>Choose FHIR R4 in JSON or NDJSON.</source>
            <translation>Wählen Sie FHIR R4 in JSON oder NDJSON.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Choose files…</source>
            <translation>Dateien wählen…</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/probe.py" />
            <source>Choose one of the endpoint's models, and test again.</source>
            <translation>Wählen Sie eines der Modelle des Endpunkts und testen Sie erneut.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>Choose one of them</source>
            <translation>Wählen Sie eines davon</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>Choose one with DICOM files</source>
            <translation>Wählen Sie einen mit DICOM-Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Choose the model's file or folder.</source>
            <translation>Wählen Sie die Datei oder den Ordner des Modells.</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>Choose {openable} files, or {containers} of them.</source>
            <translation>Wählen Sie Dateien ({openable}) oder {containers} davon.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Cine {rate} frames/s</source>
            <translation>Cine {rate} Frames/s</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Cine {rate} frames/s (measured {measured})</source>
            <translation>Cine {rate} Frames/s (gemessen {measured})</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/region_claims.py" />
            <source>Claims about this</source>
            <translation>Aussagen hierzu</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Claims about this…</source>
            <translation>Aussagen hierzu…</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Class</source>
            <translation>Art</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/densenet.py" />
            <source>Classifying</source>
            <translation>Wird klassifiziert</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/densenet.py" />
            <source>Classifying a known film</source>
            <translation>Bekannte Aufnahme wird klassifiziert</translation>
        </message>
        <message>
            <location filename="../../resources/tables/language_models.toml" />
            <source>Claude, through Anthropic's own API.</source>
            <translation>Claude, über die API von Anthropic.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_preprocessor.py" />
            <source>Clean up images</source>
            <translation>Bilder aufbereiten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/problem_list.py" />
            <source>Clear this list</source>
            <translation>Liste leeren</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click a pixel for its value</source>
            <translation>Auf ein Pixel klicken: sein Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click a pixel to fill from; drag up or down for the range</source>
            <translation>Ein Pixel anklicken, von dem aus gefüllt wird; nach oben oder unten ziehen für den Bereich</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click a place, then type the text</source>
            <translation>Auf eine Stelle klicken, dann den Text eingeben</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click a point on the structure</source>
            <translation>Auf einen Punkt der Struktur klicken</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click a point that does not belong to the structure</source>
            <translation>Auf einen Punkt klicken, der nicht zur Struktur gehört</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click an end, the vertex and the other end</source>
            <translation>Ein Ende, den Scheitel und das andere Ende anklicken</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click each corner; double click, Enter or the first corner closes the outline</source>
            <translation>Jede Ecke anklicken; Doppelklick, Eingabetaste oder die erste Ecke schließt den Umriss</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Click each point; double click or Enter ends the line</source>
            <translation>Jeden Punkt anklicken; Doppelklick oder Eingabetaste beendet die Linie</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/probability_bars.py" />
            <source>Click for the sources.</source>
            <translation>Klicken zeigt die Quellen.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Click on a finding</source>
            <translation>Klick auf einen Befund</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Click on a row or point</source>
            <translation>Klick auf eine Zeile oder einen Punkt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thumbnails.py" />
            <source>Click to open it beside the image.</source>
            <translation>Klicken, um es neben dem Bild zu öffnen.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Click to see what is sent and what is never sent.</source>
            <translation>Klicken Sie, um zu sehen, was gesendet wird und was nie.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>Click, Left or Right to fold or unfold</source>
            <translation>Klick, Links oder Rechts klappt ein und aus</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Click: the window follows the mouse, and tools get this channel</source>
            <translation>Klick: Die Fensterung folgt der Maus, und Werkzeuge erhalten diesen Kanal</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/clinical_notes.py" />
            <source>Clinical notes</source>
            <translation>Klinische Notizen</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <location filename="../../app/views/canvas/pane.py" />
            <location filename="../../app/views/chat/consent.py" />
            <location filename="../../app/views/deidentify_dialog.py" />
            <location filename="../../app/views/dicom_export_dialog.py" />
            <location filename="../../app/views/help_dialogs.py" />
            <location filename="../../app/views/main_window.py" />
            <location filename="../../app/views/models/models_window.py" />
            <location filename="../../app/views/record/record_opening.py" />
            <location filename="../../app/views/shortcuts.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Close</source>
            <translation>Schließen</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/main_window.py" />
            <source>Close %n studies with {measurements}?</source>
            <extracomment>Singular: Close %n study with {measurements}?</extracomment>
            <translation>
                <numerusform>%n Studie schließen mit {measurements}?</numerusform>
                <numerusform>%n Studien schließen mit {measurements}?</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Close all studies</source>
            <translation>Alle Studien schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>Close it, then ask again.</source>
            <translation>Schließen Sie ihn und fragen Sie noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Close patient record</source>
            <translation>Patientenakte schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/agent_thread.py" />
            <source>Close Sightline and start it again.</source>
            <translation>Schließen Sie Sightline und starten Sie es neu.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Close study</source>
            <translation>Studie schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Close the entry</source>
            <translation>Eintrag schließen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>close the study, close all studies</source>
            <translation>Studie schließen, alle Studien schließen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <location filename="../../app/views/viewports/viewport_bar.py" />
            <source>Close viewport</source>
            <translation>Viewport schließen</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>Close what uses it, or ask this computer's administrator.</source>
            <translation>Schließen Sie, was es verwendet, oder fragen Sie den Administrator dieses Computers.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Cobb angle</source>
            <translation>Cobb-Winkel</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Code</source>
            <translation>Code</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>Code changed</source>
            <translation>Code geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Coded label</source>
            <translation>Kodierte Bezeichnung</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Coded label and site</source>
            <translation>Kodierte Bezeichnung und Region</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Coded label and site…</source>
            <translation>Kodierte Bezeichnung und Region…</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Colour</source>
            <translation>Farbe</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Colour map</source>
            <translation>Farbtabelle</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Colour map: {name}</source>
            <translation>Farbtabelle: {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Colour of channel {name}</source>
            <translation>Farbe von Kanal {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Colour {number}</source>
            <translation>Farbe {number}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>colours shown without the file's ICC profile{0}</source>
            <translation>Farben ohne das ICC-Profil der Datei gezeigt{0}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Comes with Sightline</source>
            <translation>Kommt mit Sightline</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <location filename="../../app/views/shortcuts.py" />
            <source>Command</source>
            <translation>Befehl</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Command or address</source>
            <translation>Befehl oder Adresse</translation>
        </message>
        <message>
            <location filename="../../app/views/command_palette.py" />
            <source>Commands</source>
            <translation>Befehle</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Commands and their keys</source>
            <translation>Befehle und ihre Tasten</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/compare.py" />
            <source>Compare with a prior</source>
            <translation>Mit Voraufnahme vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>Compare with a prior scan</source>
            <translation>Mit einer Voruntersuchung vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/analysis_visualizer.py" />
            <source>Comparing</source>
            <translation>Gruppen werden verglichen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/registration.py" />
            <source>Comparing the greys</source>
            <translation>Grauwerte werden verglichen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>completed</source>
            <translation>abgeschlossen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Composite</source>
            <translation>Überlagert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Computes</source>
            <translation>Rechnet</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>computes</source>
            <translation>rechnet</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_data.py" />
            <source>Conditions</source>
            <translation>Diagnosen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_data.py" />
            <source>Conditions of many patients</source>
            <translation>Diagnosen vieler Patienten</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Confidence</source>
            <translation>Konfidenz</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>confirmed</source>
            <translation>bestätigt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Connection tried</source>
            <translation>Verbindung versucht</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Consent withdrawn</source>
            <translation>Einwilligung zurückgezogen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Consolidation</source>
            <translation>Konsolidierung</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Contact</source>
            <translation>Kontakt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>content below level {0} is not shown</source>
            <translation>Inhalt unterhalb der Ebene {0} wird nicht gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>content time</source>
            <translation>Inhaltszeit</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Context</source>
            <translation>Kontext</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Continue</source>
            <translation>Fortsetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Continue in a copy</source>
            <translation>In einer Kopie fortsetzen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>contour in a plane across this one: not drawn</source>
            <translation>Kontur in einer Ebene quer zu dieser: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>contour named for this image but elsewhere: not drawn on it</source>
            <translation>Kontur für dieses Bild angegeben, aber anderswo: nicht darauf gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>contour of an unknown kind: not drawn</source>
            <translation>Kontur unbekannter Art: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>contour with damaged coordinates: not drawn</source>
            <translation>Kontur mit beschädigten Koordinaten: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>contour with more or fewer points than stated</source>
            <translation>Kontur mit mehr oder weniger Punkten als angegeben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Conversation</source>
            <translation>Gespräch</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Conversation deleted</source>
            <translation>Gespräch gelöscht</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/dicom_processor.py" />
            <source>Convert DICOM image</source>
            <translation>DICOM-Bild umwandeln</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>converted from CMYK without a colour profile</source>
            <translation>aus CMYK ohne Farbprofil umgewandelt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/pixels/regions.py" />
            <source>Coordinates are in pixels of that level</source>
            <translation>Koordinaten sind in Pixeln dieser Ebene</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Copied</source>
            <translation>Kopiert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/answer.py" />
            <location filename="../../app/views/chat/message.py" />
            <location filename="../../app/views/deidentify_dialog.py" />
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <location filename="../../app/views/diagnosis/session_page.py" />
            <location filename="../../app/views/record/record_panel.py" />
            <location filename="../../app/views/text_view.py" />
            <source>Copy</source>
            <translation>Kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Copy a mark first.</source>
            <translation>Kopieren Sie zuerst eine Markierung.</translation>
        </message>
        <message>
            <location filename="../../app/views/text_view.py" />
            <source>Copy all</source>
            <translation>Alles kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Copy also files that are declared to have burnt-in text</source>
            <translation>Auch Dateien kopieren, die laut Angabe eingebrannten Text haben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <location filename="../../app/views/chat/run_view.py" />
            <source>Copy as Markdown</source>
            <translation>Als Markdown kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <location filename="../../app/views/chat/run_view.py" />
            <source>Copy as plain text</source>
            <translation>Als Text kopieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>Copy it again from its source, or ask for a new export</source>
            <translation>Kopieren Sie es erneut von der Quelle oder bitten Sie um einen neuen Export</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>Copy it again.</source>
            <translation>Kopieren Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Copy marks</source>
            <translation>Markierungen kopieren</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <location filename="../../app/tools/models/installation.py" />
            <location filename="../../app/tools/models/sources.py" />
            <source>Copy or download it again.</source>
            <translation>Kopieren oder laden Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Copy picture</source>
            <translation>Bild kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/answer.py" />
            <source>Copy the answer</source>
            <translation>Antwort kopieren</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>Copy the token again from your account at the hub.</source>
            <translation>Kopieren Sie das Token noch einmal aus Ihrem Konto beim Hub.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/problem_list.py" />
            <source>Copy the whole list</source>
            <translation>Ganze Liste kopieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>Copy the whole medium, not only its DICOMDIR</source>
            <translation>Kopieren Sie den ganzen Datenträger, nicht nur sein DICOMDIR</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Copy the whole text</source>
            <translation>Ganzen Text kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Copy what you need.</source>
            <translation>Kopieren Sie, was Sie brauchen.</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>copy, paste and select text</source>
            <translation>Text kopieren, einfügen und auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Copying</source>
            <translation>Wird kopiert</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Coronal</source>
            <translation>Koronar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>coronal</source>
            <translation>koronar</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/table.py" />
            <source>Correct the file; resources/tables/diagnosis/README.md says what belongs into it.</source>
            <translation>Berichtigen Sie die Datei; was hineingehört, steht in resources/tables/diagnosis/README.md.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>corrected</source>
            <translation>berichtigt</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>corrected by hand</source>
            <translation>von Hand korrigiert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>corrected for an estimated magnification of {0}</source>
            <translation>korrigiert um eine geschätzte Vergrößerung von {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Cost</source>
            <translation>Kosten</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>cost {level}</source>
            <translation>Kosten {level}</translation>
        </message>
        <message>
            <location filename="../../app/views/results/plot_pane.py" />
            <source>Count</source>
            <translation>Anzahl</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/segmenters.py" />
            <source>Count cells</source>
            <translation>Zellen zählen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/segmenters.py" />
            <source>Count nuclei</source>
            <translation>Zellkerne zählen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/segmenters.py" />
            <source>Count organoids</source>
            <translation>Organoide zählen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Counting…</source>
            <translation>Wird gezählt…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/scan.py" />
            <source>counts and instances disagree</source>
            <translation>Zählung und Instanzen widersprechen sich</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>crashed (memory fault)</source>
            <translation>stürzte ab (Speicherfehler)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>crashed (signal {0})</source>
            <translation>stürzte ab (Signal {0})</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Criticality</source>
            <translation>Gefährlichkeit</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/single_cell_cropper.py" />
            <source>Crop cells</source>
            <translation>Zellen ausschneiden</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/ct-chest.toml" />
            <source>CT of the chest: soft tissue, lung and bone</source>
            <translation>CT Thorax: Weichteil, Lunge und Knochen</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/ct-prior.toml" />
            <source>CT: current beside prior</source>
            <translation>CT: aktuell neben Voruntersuchung</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Ctrl + Alt + wheel, drag at the foot</source>
            <translation>Strg + Alt + Rad, am unteren Rand ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>current</source>
            <translation>aktuell</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Cut marks</source>
            <translation>Markierungen ausschneiden</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>cut, copy, paste, duplicate marks</source>
            <translation>Markierungen ausschneiden, kopieren, einfügen, verdoppeln</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cropping.py" />
            <source>Cutting out cells</source>
            <translation>Zellen werden ausgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Cyan</source>
            <translation>Cyan</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Damaged</source>
            <translation>Beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <source>damaged</source>
            <translation>beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Dark</source>
            <translation>Dunkel</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Data to another machine.</source>
            <translation>Daten an einen anderen Computer.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Date</source>
            <translation>Datum</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>De-identified copy</source>
            <translation>De-identifizierte Kopie</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>De-identified copy…</source>
            <translation>De-identifizierte Kopie…</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/dicom_processor.py" />
            <source>Decoding</source>
            <translation>Wird dekodiert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <location filename="../../app/views/mark_keeping.py" />
            <location filename="../../app/views/settings/memory_page.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <location filename="../../resources/tables/window.toml" />
            <source>Delete</source>
            <translation>Löschen</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/mark_keeping.py" />
            <source>Delete %n marks for good?</source>
            <extracomment>Singular: Delete %n mark for good?</extracomment>
            <translation>
                <numerusform>%n Markierung endgültig löschen?</numerusform>
                <numerusform>%n Markierungen endgültig löschen?</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <source>Delete a note</source>
            <translation>Notiz löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Delete all findings</source>
            <translation>Alle Befunde löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Delete saved marks</source>
            <translation>Gespeicherte Markierungen löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Delete selected finding</source>
            <translation>Ausgewählten Befund löschen</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/store.py" />
            <source>Delete that folder by hand.</source>
            <translation>Löschen Sie diesen Ordner von Hand.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Delete the conversation</source>
            <translation>Gespräch löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>Delete the key that Sightline keeps for this host</source>
            <translation>Den Schlüssel löschen, den Sightline für diesen Host aufbewahrt</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Delete the marks of the selected…</source>
            <translation>Markierungen der ausgewählten löschen …</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Delete {names}?</source>
            <translation>{names} löschen?</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Delete “{title}”?</source>
            <translation>„{title}“ löschen?</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Delete…</source>
            <translation>Löschen…</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_data.py" />
            <source>Demographics</source>
            <translation>Stammdaten</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Denies what was accepted: {told}</source>
            <translation>Verneint, was angenommen wurde: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Deployment</source>
            <translation>Deployment</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_info.py" />
            <source>Describe the image file</source>
            <translation>Bilddatei beschreiben</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Description</source>
            <translation>Beschreibung</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Details</source>
            <translation>Einzelheiten</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Details of the selected line</source>
            <translation>Einzelheiten der gewählten Zeile</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>detector plane</source>
            <translation>Detektorebene</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>detector-plane scale, not corrected for magnification</source>
            <translation>Maßstab der Detektorebene, nicht um die Vergrößerung korrigiert</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>Diagnosis</source>
            <translation>Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/plan.py" />
            <location filename="../../app/tools/diagnosis/protocol.py" />
            <source>Diagnosis step</source>
            <translation>Diagnoseschritt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>DICOM</source>
            <translation>DICOM</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>DICOM attributes</source>
            <translation>DICOM-Attribute</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>DICOM metadata</source>
            <translation>DICOM-Metadaten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>DICOM objects cannot be written, since the package highdicom is not installed</source>
            <translation>DICOM-Objekte können nicht geschrieben werden, da das Paket highdicom nicht installiert ist</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>DICOM structured report (*.dcm)</source>
            <translation>DICOM-Strukturbericht (*.dcm)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>DICOM, PNG, JPEG, TIFF, NIfTI, NRRD, MetaImage or PDF</source>
            <translation>DICOM, PNG, JPEG, TIFF, NIfTI, NRRD, MetaImage oder PDF</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>DICOM…</source>
            <translation>DICOM …</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>did not start within {0} s</source>
            <translation>startete nicht innerhalb von {0} s</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Died</source>
            <translation>Verstorben</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>died {date}</source>
            <translation>verstorben {date}</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Difference</source>
            <translation>Differenz</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/differential_tool.py" />
            <location filename="../../app/tools/diagnosis/plan.py" />
            <source>Differential diagnosis</source>
            <translation>Differentialdiagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Discard</source>
            <translation>Verwerfen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Discard the changes to “{title}”?</source>
            <translation>Änderungen an „{title}“ verwerfen?</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Discharge</source>
            <translation>Entlassung</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/clinical_notes.py" />
            <source>Discharge summary</source>
            <translation>Entlassungsbrief</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Dismiss</source>
            <translation>Ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/general_plan.py" />
            <source>Display</source>
            <translation>Darstellung</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/attachments.py" />
            <source>Do not attach {name}</source>
            <translation>{name} nicht anhängen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Do this step earlier</source>
            <translation>Diesen Schritt früher ausführen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Do this step later</source>
            <translation>Diesen Schritt später ausführen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <location filename="../../app/views/diagnosis/session_page.py" />
            <source>Doctors' sessions</source>
            <translation>Sitzungen des Arztprotokolls</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>document</source>
            <translation>Dokument</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>Documents</source>
            <translation>Dokumente</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Don't allow</source>
            <translation>Nicht erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Don't send</source>
            <translation>Nicht senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Don't use it</source>
            <translation>Nicht verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Done</source>
            <translation>Fertig</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../app/views/chat/plan_view.py" />
            <source>done</source>
            <translation>fertig</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Dosage</source>
            <translation>Dosierung</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>dotted: thresholds to test and to treat</source>
            <translation>gepunktet: Schwellen für Untersuchung und Behandlung</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Double click, Shift + move</source>
            <translation>Doppelklick, Umschalt + bewegen</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Down</source>
            <translation>Nach unten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Download</source>
            <translation>Herunterladen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Download again…</source>
            <translation>Erneut herunterladen…</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <location filename="../../app/tools/models/store.py" />
            <source>Download it again. Weights of your own that the model can load are taken with --other; results then carry a warning.</source>
            <translation>Laden Sie es noch einmal herunter. Eigene Gewichte, die das Modell laden kann, werden mit --other übernommen; Ergebnisse tragen dann eine Warnung.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Download {title}?</source>
            <translation>{title} herunterladen?</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Downloading</source>
            <translation>Wird heruntergeladen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Download…</source>
            <translation>Herunterladen…</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>draft</source>
            <translation>Entwurf</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/report.py" />
            <source>Draft a report</source>
            <translation>Befundentwurf erstellen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Draft it again</source>
            <translation>Neu entwerfen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Draft it again from the findings</source>
            <translation>Aus den Befunden neu entwerfen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Draft it by another template</source>
            <translation>Nach einer anderen Vorlage entwerfen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>Draft report</source>
            <translation>Befundentwurf</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Draft the report again from the findings?</source>
            <translation>Den Bericht aus den Befunden neu entwerfen?</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <location filename="../../app/views/report/report_texts.py" />
            <source>Draft, not signed</source>
            <translation>Entwurf, nicht unterschrieben</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag a line along each of two end plates</source>
            <translation>Je eine Linie an zwei Deckplatten entlang ziehen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Drag a point, label, outline</source>
            <translation>Punkt, Text, Umriss ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag a rectangle whose values become the window</source>
            <translation>Ein Rechteck aufziehen, dessen Werte das Fenster werden</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Drag a series</source>
            <translation>Serie ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Drag a series here from the list of studies</source>
            <translation>Ziehen Sie eine Serie aus der Liste der Studien hierher</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag around the region</source>
            <translation>Um den Bereich herum ziehen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Drag at the right edge</source>
            <translation>Am rechten Rand ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag from corner to corner of the box</source>
            <translation>Von Ecke zu Ecke des Rechtecks ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag from corner to corner of the ellipse</source>
            <translation>Von Ecke zu Ecke der Ellipse ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag from one end to the other</source>
            <translation>Von einem Ende zum anderen ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag from what the arrow points at, then type its text</source>
            <translation>Vom Ziel des Pfeils aus ziehen, dann seinen Text eingeben</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/viewport_bar.py" />
            <source>Drag onto another viewport to change places</source>
            <translation>Auf einen anderen Viewport ziehen, um die Plätze zu tauschen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag the greatest cardiac width, then the thoracic one</source>
            <translation>Die größte Breite des Herzens ziehen, dann die des Thorax</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag the long axis, then move the ends of the short one</source>
            <translation>Die lange Achse ziehen, dann die Enden der kurzen verschieben</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/scrolling.py" />
            <source>Drag to go through the time points</source>
            <translation>Ziehen, um die Zeitpunkte durchzugehen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Drag to paint, with Shift to erase; [ and ] change the size</source>
            <translation>Ziehen malt, mit Umschalt radiert es; [ und ] ändern die Größe</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/scrolling.py" />
            <source>Drag to scroll through the series</source>
            <translation>Ziehen, um durch die Serie zu blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Draw</source>
            <translation>Einzeichnen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Draw a box on the image that the question is about</source>
            <translation>Ein Rechteck auf dem Bild aufziehen, um das es in der Frage geht</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Draw a freehand region</source>
            <translation>Freihandbereich zeichnen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Draw a polygon</source>
            <translation>Polygon zeichnen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/generator.py" />
            <source>Draw a synthetic radiograph</source>
            <translation>Synthetische Röntgenaufnahme erzeugen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Draw an arrow</source>
            <translation>Pfeil zeichnen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Draw an ellipse</source>
            <translation>Ellipse zeichnen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>Draw or accept a mask.</source>
            <translation>Zeichnen Sie eine Maske oder nehmen Sie eine an.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/grounding.py" />
            <source>Drawing</source>
            <translation>Wird gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_states.py" />
            <source>Drawing the map; the first time takes half a minute</source>
            <translation>Die Karte wird gezeichnet; beim ersten Mal dauert das eine halbe Minute</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>Drop to open</source>
            <translation>Zum Öffnen loslassen</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Drop {openable} files, or {containers} of them, anywhere on this window. Images stay on this computer.</source>
            <translation>Ziehen Sie Dateien ({openable}) oder {containers} davon irgendwo auf dieses Fenster. Die Bilder bleiben auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/medications.py" />
            <source>Drug interactions</source>
            <translation>Wechselwirkungen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Duplicate marks</source>
            <translation>Markierungen verdoppeln</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Duplicate to edit</source>
            <translation>Zum Bearbeiten kopieren</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Each region has its own scale</source>
            <translation>Jede Region hat ihren eigenen Maßstab</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Each region has its own scale: lengths across regions in px</source>
            <translation>Jede Region hat ihren eigenen Maßstab: Längen über Regionen hinweg in px</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Each tool</source>
            <translation>Jedes Werkzeug</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Earlier conversations</source>
            <translation>Frühere Gespräche</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Earlier study, not named: {told}</source>
            <translation>Voruntersuchung, nicht genannt: {told}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Edema</source>
            <translation>Ödem</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Edit a mask with the brush</source>
            <translation>Maske mit dem Pinsel bearbeiten</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>edit a mask, Shift erases; fill one by threshold</source>
            <translation>Maske bearbeiten, Umschalt radiert; nach Schwellenwert füllen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Edit and ask again…</source>
            <translation>Ändern und neu fragen…</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Edit finding</source>
            <translation>Befund bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Edit plan</source>
            <translation>Plan bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Edit presets…</source>
            <translation>Vorgaben bearbeiten…</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Edit the text of the mark</source>
            <translation>Text der Markierung ändern</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>edited</source>
            <translation>bearbeitet</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Edited and accepted by {name} on {time}</source>
            <translation>Bearbeitet und angenommen von {name} am {time}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Effusion</source>
            <translation>Erguss</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Ellipse</source>
            <translation>Ellipse</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Emission {nm} nm</source>
            <translation>Emission {nm} nm</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Emphysema</source>
            <translation>Emphysem</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Encounter</source>
            <translation>Kontakt mit Arzt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Encounters</source>
            <translation>Arztkontakte</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>End the calibration</source>
            <translation>Kalibrierung beenden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>ended unexpectedly (code {0})</source>
            <translation>endete unerwartet (Code {0})</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Enlarged Cardiomediastinum</source>
            <translation>Verbreitertes Kardiomediastinum</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Enter a new token.</source>
            <translation>Geben Sie ein neues Token ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Enter an address to see where questions would be sent.</source>
            <translation>Geben Sie eine Adresse ein, um zu sehen, wohin Fragen gesendet würden.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Enter both centre and width as numbers, such as 40 and 400, or neither.</source>
            <translation>Geben Sie Zentrum und Breite beide als Zahlen ein, etwa 40 und 400, oder keines von beiden.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Enter refuses; the assistant is told the reason</source>
            <translation>Eingabetaste lehnt ab; der Grund wird dem Assistenten mitgeteilt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Enter sends, Shift+Enter starts a new line</source>
            <translation>Eingabetaste sendet, Umschalt+Eingabe beginnt eine neue Zeile</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Enter takes the text, Esc does not</source>
            <translation>Die Eingabetaste übernimmt den Text, Esc nicht</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Enter the address of your resource in Azure.</source>
            <translation>Geben Sie die Adresse Ihrer Ressource in Azure ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Enter the name of the deployment, or list what the endpoint has.</source>
            <translation>Geben Sie den Namen des Deployments ein oder lassen Sie auflisten, was der Endpunkt hat.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Enter the name of the model, or list what the endpoint has.</source>
            <translation>Geben Sie den Namen des Modells ein oder lassen Sie auflisten, was der Endpunkt hat.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Entry</source>
            <translation>Eintrag</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Esc cancels, Backspace takes the last point back</source>
            <translation>Esc bricht ab, die Rücktaste nimmt den letzten Punkt zurück</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Esc, Shift+Esc</source>
            <translation>Esc, Umschalt+Esc</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Escape</source>
            <translation>Esc</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Ethnicity</source>
            <translation>Ethnische Zugehörigkeit</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Every call asks, whatever was allowed</source>
            <translation>Jeder Aufruf fragt, trotz Erlaubnis</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Every call is asked about again</source>
            <translation>Nach jedem Aufruf wird wieder gefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Every tool</source>
            <translation>Alle Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Examining it</source>
            <translation>Wird untersucht</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Excitation {nm} nm</source>
            <translation>Anregung {nm} nm</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Export</source>
            <translation>Exportieren</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Export a movie</source>
            <translation>Film exportieren</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Export a picture</source>
            <translation>Bild exportieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>Export a smaller part of it</source>
            <translation>Exportieren Sie einen kleineren Teil davon</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>Export a smaller part or a lower resolution</source>
            <translation>Exportieren Sie einen kleineren Teil oder eine geringere Auflösung</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Export as DICOM</source>
            <translation>Als DICOM exportieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>Export it as one file</source>
            <translation>Exportieren Sie es als eine Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>Export it as RGB</source>
            <translation>Exportieren Sie es als RGB</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>Export it with larger tiles</source>
            <translation>Exportieren Sie es mit größeren Kacheln</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>Export it without compression</source>
            <translation>Exportieren Sie es ohne Kompression</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Export movie…</source>
            <translation>Film exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Export picture…</source>
            <translation>Bild exportieren …</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Export started</source>
            <translation>Export begonnen</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Export the audit log</source>
            <translation>Audit-Protokoll exportieren</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Export the conversation</source>
            <translation>Gespräch exportieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>Export the labels again, with their position</source>
            <translation>Exportieren Sie die Labels erneut, mit ihrer Position</translation>
        </message>
        <message>
            <location filename="../../app/views/results/exporting.py" />
            <source>Export the plot</source>
            <translation>Diagramm exportieren</translation>
        </message>
        <message>
            <location filename="../../app/views/results/plot_pane.py" />
            <source>Export the plot…</source>
            <translation>Diagramm exportieren …</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>Export the report</source>
            <translation>Bericht exportieren</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Export the report…</source>
            <translation>Bericht exportieren…</translation>
        </message>
        <message>
            <location filename="../../app/views/results/exporting.py" />
            <location filename="../../app/views/results/table_pane.py" />
            <source>Export the table</source>
            <translation>Tabelle exportieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>Export them as a table or a picture.</source>
            <translation>Exportieren Sie sie als Tabelle oder Bild.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>Export them one by one</source>
            <translation>Exportieren Sie sie einzeln</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>Export: {what}</source>
            <translation>Exportieren: {what}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <location filename="../../app/views/report/report_files.py" />
            <location filename="../../app/views/results/exporting.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Exported</source>
            <translation>Exportiert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Exported to {path}</source>
            <translation>Nach {path} exportiert</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Exports</source>
            <translation>Exporte</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <location filename="../../app/views/chat/dock.py" />
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Export…</source>
            <translation>Exportieren…</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>F2, Enter on a finding</source>
            <translation>F2, Enter auf einem Befund</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Facies Diaphragmatica</source>
            <translation>Facies diaphragmatica</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <location filename="../../app/views/models/model_wording.py" />
            <source>Failed</source>
            <translation>Fehlgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../app/views/chat/plan_view.py" />
            <source>failed</source>
            <translation>fehlgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>Faint</source>
            <translation>Schwach</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Faster cine</source>
            <translation>Cine schneller</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>female</source>
            <translation>weiblich</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>FHIR DiagnosticReport (*.json)</source>
            <translation>FHIR DiagnosticReport (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>FHIR R4 has no such resource type</source>
            <translation>FHIR R4 kennt keine solche Ressource</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>FHIR R4 in JSON: bundles, single resources, or a bulk export (NDJSON). Nothing is sent and nothing is changed.</source>
            <translation>FHIR R4 in JSON: Bundles, einzelne Ressourcen oder ein Bulk-Export (NDJSON). Nichts wird gesendet und nichts verändert.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Fibrosis</source>
            <translation>Fibrose</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Figure looked up: {address}</source>
            <translation>Zahl nachgeschlagen: {address}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Figure not looked up</source>
            <translation>Zahl nicht nachgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Figures</source>
            <translation>Zahlen</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/general_plan.py" />
            <location filename="../../app/views/record/record_opening.py" />
            <source>File</source>
            <translation>Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>file</source>
            <translation>Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>file name</source>
            <translation>Dateiname</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>File started</source>
            <translation>Datei begonnen</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>file: {name}</source>
            <translation>Datei: {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Files</source>
            <translation>Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>Files are decoded in isolated processes: they cannot write files, start programs or use the network.</source>
            <translation>Dateien werden in abgeschotteten Prozessen dekodiert: Diese können keine Dateien schreiben, keine Programme starten und das Netz nicht nutzen.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Files outside the conversation's own folder.</source>
            <translation>Dateien außerhalb des Ordners des Gesprächs.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/problem_list.py" />
            <source>Files that were not opened</source>
            <translation>Nicht geöffnete Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>File…</source>
            <translation>Datei…</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Fill a mask by threshold</source>
            <translation>Maske nach Schwellenwert füllen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/filling.py" />
            <source>Fill only within the box, ellipse or outline that was drawn around the pixel</source>
            <translation>Nur innerhalb des Rechtecks, der Ellipse oder des Umrisses füllen, die um das Pixel gezeichnet sind</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Filter the findings</source>
            <translation>Befunde filtern</translation>
        </message>
        <message>
            <location filename="../../app/views/results/table_pane.py" />
            <source>Filter the rows</source>
            <translation>Zeilen filtern</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveforms.py" />
            <source>filter {0}–{1} Hz</source>
            <translation>Filter {0}–{1} Hz</translation>
        </message>
        <message>
            <location filename="../../app/views/results/table_pane.py" />
            <source>Filter: words, or area&gt;50</source>
            <translation>Filter: Wörter oder area&gt;50</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>final</source>
            <translation>endgültig</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/plan.py" />
            <location filename="../../app/tools/diagnosis/protocol.py" />
            <source>Final diagnosis</source>
            <translation>Abschließende Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Final diagnosis: {diagnosis}</source>
            <translation>Abschließende Diagnose: {diagnosis}</translation>
        </message>
        <message>
            <location filename="../../app/views/command_palette.py" />
            <source>Find a command</source>
            <translation>Befehl suchen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>find a command; this list</source>
            <translation>Befehl suchen; diese Liste</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Find a command…</source>
            <translation>Befehl suchen…</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>Find a patient's images</source>
            <translation>Bilder eines Patienten suchen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/grounding.py" />
            <source>Find a phrase in the image</source>
            <translation>Textstelle im Bild finden</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_state_analyzer.py" />
            <source>Find cell states</source>
            <translation>Zellzustände finden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Find in conversations</source>
            <translation>In Gesprächen suchen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>find_patient_images tells which imaging studies the record names.</source>
            <translation>find_patient_images sagt, welche Bildstudien die Akte nennt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/finding_links.py" />
            <location filename="../../app/views/diagnosis/lists.py" />
            <source>Finding</source>
            <translation>Befund</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/smears.py" />
            <source>Finding cells</source>
            <translation>Zellen werden gesucht</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/classical.py" />
            <source>Finding large objects</source>
            <translation>Große Objekte werden gesucht</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/smears.py" />
            <source>Finding nuclei</source>
            <translation>Zellkerne werden gesucht</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/bright_objects.py" />
            <location filename="../../app/tools/microscopy/dark_objects.py" />
            <source>Finding objects</source>
            <translation>Objekte werden gesucht</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <location filename="../../app/views/window_docks.py" />
            <source>Findings</source>
            <translation>Befunde</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>Findings and measurements</source>
            <translation>Befunde und Messungen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Findings have changed since it was signed</source>
            <translation>Seit der Unterschrift haben sich Befunde geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/lists.py" />
            <source>Findings of the presentation</source>
            <translation>Befunde des Leitsymptoms</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Findings reviewed</source>
            <translation>Befunde beurteilt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sr.py" />
            <source>findings that nobody has reviewed cannot be verified</source>
            <translation>Befunde, die niemand geprüft hat, können nicht verifiziert werden</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Findings that were accepted or edited</source>
            <translation>Angenommene oder bearbeitete Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>finished</source>
            <translation>beendet</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>first and last image</source>
            <translation>erstes und letztes Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>First mend what contradicts a finding: see the checks.</source>
            <translation>Zuerst beheben, was einem Befund widerspricht: siehe die Prüfungen.</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>First slice</source>
            <translation>Erste Schicht</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/pane.py" />
            <location filename="../../app/views/results/plot_pane.py" />
            <source>Fit</source>
            <translation>Einpassen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Fit to window</source>
            <translation>In Fenster einpassen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>fit, or maximise; show the point in all</source>
            <translation>einpassen oder maximieren; den Punkt in allen zeigen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>fit; actual pixels (1:1); window presets</source>
            <translation>einpassen; Originalpixel (1:1); Fenstervorgaben</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>fitted to the image</source>
            <translation>an das Bild angepasst</translation>
        </message>
        <message>
            <location filename="../../resources/tables/language_models.toml" />
            <source>Fixed rules choose the tools and put their results into words. It is not a language model; it always works.</source>
            <translation>Feste Regeln wählen die Werkzeuge und fassen ihre Ergebnisse in Worte. Das ist kein Sprachmodell; es funktioniert immer.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/bright_objects.py" />
            <source>Flattening the background</source>
            <translation>Der Hintergrund wird geglättet</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Flip a mammogram to face the middle</source>
            <translation>Mammographie zur Mitte hin spiegeln</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Flip left-right</source>
            <translation>Links-rechts spiegeln</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>flip left-right, top-bottom</source>
            <translation>links-rechts, oben-unten spiegeln</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Flip top-bottom</source>
            <translation>Oben-unten spiegeln</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Flipped left-right</source>
            <translation>Links-rechts gespiegelt</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Flipped left-right, rotated 90° left</source>
            <translation>Links-rechts gespiegelt, um 90° nach links gedreht</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Flipped left-right, rotated 90° right</source>
            <translation>Links-rechts gespiegelt, um 90° nach rechts gedreht</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Flipped top-bottom</source>
            <translation>Oben-unten gespiegelt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/whole_slide.py" />
            <source>focal plane {0}</source>
            <translation>Fokusebene {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Folder</source>
            <translation>Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Folder for the copy</source>
            <translation>Ordner für die Kopie</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Folder for the files</source>
            <translation>Ordner für die Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Folder of my hanging protocols…</source>
            <translation>Ordner meiner Hängeprotokolle…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>folders, DICOMDIRs and zip archives</source>
            <translation>Ordner, DICOMDIRs und Zip-Archive</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Folder…</source>
            <translation>Ordner…</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>Fonts: Inter (OFL 1.1), JetBrains Mono (Apache 2.0). Icons: Lucide (ISC). Built with Qt for Python (LGPL 3), pyqtgraph and pydicom (MIT).</source>
            <translation>Schriften: Inter (OFL 1.1), JetBrains Mono (Apache 2.0). Symbole: Lucide (ISC). Gebaut mit Qt for Python (LGPL 3), pyqtgraph und pydicom (MIT).</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For a conference</source>
            <translation>Für eine Besprechung</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>For all images of the series with as many pixels</source>
            <translation>Für alle Bilder der Serie mit ebenso vielen Pixeln</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/for_each_image.py" />
            <source>For each image</source>
            <translation>Für jedes Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>For every {modality} image. The keys 1 to 9 choose them in this order; the windows in the image's file follow.</source>
            <translation>Für jedes {modality}-Bild. Die Tasten 1 bis 9 wählen sie in dieser Reihenfolge; die Fenster aus der Datei des Bildes folgen.</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For peer review</source>
            <translation>Für die Begutachtung durch Kollegen</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For research</source>
            <translation>Für die Forschung</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For surgery</source>
            <translation>Für die Operation</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For teaching</source>
            <translation>Für die Lehre</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For the patient</source>
            <translation>Für den Patienten</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For the referring provider</source>
            <translation>Für den Zuweiser</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>For therapy</source>
            <translation>Für die Therapie</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>For which studies</source>
            <translation>Für welche Studien</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>Forget key</source>
            <translation>Schlüssel löschen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>Forget what was told</source>
            <translation>Angaben vergessen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Form</source>
            <translation>Format</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Fracture</source>
            <translation>Fraktur</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>frame of reference {0}</source>
            <translation>Bezugssystem {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>frame {0} of {1} is not in the file: it holds {2} compressed parts</source>
            <translation>Frame {0} von {1} ist nicht in der Datei: Sie enthält {2} komprimierte Teile</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>frame {listed}</source>
            <translation>Frame {listed}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Frame {number} / {count}</source>
            <translation>Frame {number} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>frames {listed}</source>
            <translation>Frames {listed}</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/store.py" />
            <location filename="../../app/agent/sessions/thread.py" />
            <source>Free space on the disk or set SIGHTLINE_HOME to a folder you may write to.</source>
            <translation>Schaffen Sie Platz auf dem Datenträger oder setzen Sie SIGHTLINE_HOME auf einen Ordner, in den Sie schreiben dürfen.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Freehand region</source>
            <translation>Freihandbereich</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>From a FHIR server</source>
            <translation>Von einem FHIR-Server</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>From a file or model pack…</source>
            <translation>Aus Datei oder Modellpaket…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>From a folder…</source>
            <translation>Aus einem Ordner…</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>from a region</source>
            <translation>aus einer Region</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>From any source</source>
            <translation>Aus jeder Quelle</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>From files</source>
            <translation>Aus Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>From slice</source>
            <translation>Von Schicht</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>From the report</source>
            <translation>Aus dem Bericht</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>From the report: {title}</source>
            <translation>Aus dem Bericht: {title}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>From your settings file. {text}</source>
            <translation>Aus Ihrer Einstellungsdatei. {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>from {day}</source>
            <translation>vom {day}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>From {host}. {size_guess}</source>
            <translation>Von {host}. {size_guess}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>From {host}: {amount}.</source>
            <translation>Von {host}: {amount}.</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Full screen</source>
            <translation>Vollbild</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/generated_analysis.py" />
            <source>Gathering the data</source>
            <translation>Daten werden zusammengestellt</translation>
        </message>
        <message>
            <location filename="../../app/tools/sandbox/sandbox.py" />
            <source>Generated code cannot run on this computer: {0}</source>
            <translation>Erzeugter Code kann auf diesem Computer nicht laufen: {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/checkpoint.py" />
            <source>Get it again and install it with `{0} models install PATH`.</source>
            <translation>Beschaffen Sie sie neu und installieren Sie sie mit `{0} models install PATH`.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>GGUF models (*.gguf)</source>
            <translation>GGUF-Modelle (*.gguf)</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>GIF (256 colours; moves)</source>
            <translation>GIF (256 Farben; bewegt)</translation>
        </message>
        <message>
            <location filename="../../app/tools/tables.py" />
            <source>Give a CSV file with a row of column names and one value per column.</source>
            <translation>Geben Sie eine CSV-Datei mit einer Zeile der Spaltennamen und einem Wert je Spalte an.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>Give one of them.</source>
            <translation>Geben Sie eines davon an.</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/endpoint.py" />
            <source>Give one such as http://127.0.0.1:11434/v1.</source>
            <translation>Geben Sie eine an wie http://127.0.0.1:11434/v1.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Give the patient's id or medical record number.</source>
            <translation>Geben Sie die Kennung oder die Aktennummer des Patienten an.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Go on</source>
            <translation>Fortfahren</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Go on with this answer.</source>
            <translation>Setzen Sie diese Antwort fort.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>go through the time points</source>
            <translation>die Zeitpunkte durchgehen</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Go to an image</source>
            <translation>Zu einem Bild gehen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Goal not reached.</source>
            <translation>Ziel nicht erreicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Goal not reached: {why}</source>
            <translation>Ziel nicht erreicht: {why}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Goal reached</source>
            <translation>Ziel erreicht</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>gone</source>
            <translation>verschwunden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_values.py" />
            <source>graphic of no type</source>
            <translation>Grafik ohne Art</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Green</source>
            <translation>Grün</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>Grey</source>
            <translation>Grau</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>grey: range of the published intervals</source>
            <translation>grau: Spanne der veröffentlichten Intervalle</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Group marks</source>
            <translation>Markierungen gruppieren</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Group marks…</source>
            <translation>Markierungen gruppieren…</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>Hanging protocol</source>
            <translation>Hängeprotokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>hanging protocol</source>
            <translation>Hängeprotokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Hanging protocols</source>
            <translation>Hängeprotokolle</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Hanging protocols; those that are ticked are used</source>
            <translation>Hängeprotokolle; die angehakten werden benutzt</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>harm {level}</source>
            <translation>Schaden {level}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>has changed: look at its tools</source>
            <translation>hat sich geändert: Werkzeuge ansehen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>Have that attribute corrected in the image, or save the findings as a table (CSV), or the view as a picture.</source>
            <translation>Lassen Sie dieses Attribut im Bild berichtigen, oder speichern Sie die Befunde als Tabelle (CSV) oder die Ansicht als Bild.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Heart</source>
            <translation>Herz</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <source>Heart width</source>
            <translation>Herzbreite</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>Heatmap: {label}</source>
            <translation>Heatmap: {label}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>Heatmap: {label}, score {score:.2f}</source>
            <translation>Heatmap: {label}, Score {score:.2f}</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Heatmaps</source>
            <translation>Heatmaps</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Height px</source>
            <translation>Höhe px</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Hernia</source>
            <translation>Hernie</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>HF_TOKEN is not an access token: it contains spaces, line ends or accents</source>
            <translation>HF_TOKEN ist kein Zugriffstoken: Es enthält Leerzeichen, Zeilenenden oder Akzente</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>Hidden</source>
            <translation>Ausgeblendet</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Hide all findings</source>
            <translation>Alle Befunde ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Hide findings</source>
            <translation>Befunde ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Hide or show marks</source>
            <translation>Markierungen aus- oder einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Hide this layer</source>
            <translation>Dieses Overlay ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/widgets.py" />
            <source>Hide this panel</source>
            <translation>Diesen Bereich ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>high</source>
            <translation>hoch</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>High Bit {0} contradicts Bits Stored {1}: bits {2} are used</source>
            <translation>High Bit {0} widerspricht Bits Stored {1}: Die Bits {2} werden verwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/filling.py" />
            <source>Highest value</source>
            <translation>Höchster Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>Histogram</source>
            <translation>Histogramm</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Histogram of the region</source>
            <translation>Histogramm des Bereichs</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Histogram…</source>
            <translation>Histogramm…</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/history.py" />
            <source>History</source>
            <translation>Vorgeschichte</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>Hold a bank card against the screen and drag the right end of the bar until it is as wide as the card (arrow keys move it by one pixel). Or measure the bar with a ruler and type its length.</source>
            <translation>Halten Sie eine Bankkarte an den Bildschirm und ziehen Sie das rechte Ende des Balkens, bis er so breit ist wie die Karte (Pfeiltasten bewegen es um ein Pixel). Oder messen Sie den Balken mit einem Lineal und geben Sie seine Länge ein.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Hold {magnify}; {true_size}</source>
            <translation>{magnify} halten; {true_size}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Home, End</source>
            <translation>Pos1, Ende</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Host</source>
            <translation>Host</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>Hot iron</source>
            <translation>Hot Iron</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>Hot metal blue</source>
            <translation>Hot Metal Blue</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>How do the windows look?</source>
            <translation>Wie sehen die Fenster aus?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>How far may one question go?</source>
            <translation>Wie weit darf eine Frage gehen?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>How long an idle model stays loaded before its memory is freed.</source>
            <translation>Wie lange ein unbenutztes Modell geladen bleibt, bevor sein Speicher freigegeben wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>How long is the line in truth? All marks of the image are measured with it, in place of the scale of the file, and say so: calibrated by hand.</source>
            <translation>Wie lang ist die Linie wirklich? Alle Markierungen des Bildes werden damit gemessen, statt mit dem Maßstab der Datei, und sagen das: von Hand kalibriert.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/plan.py" />
            <source>How many cells are there?</source>
            <translation>Wie viele Zellen gibt es?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>How often the language model is asked.</source>
            <translation>Wie oft das Sprachmodell gefragt wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>How the file says that the image is to be shown</source>
            <translation>Wie das Bild laut Datei gezeigt werden soll</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>How to get it</source>
            <translation>Bezugsweg</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>How you like answers and reports, and what holds at your site. Language models are told the notes that are ticked, also those on other machines; the rules that answer offline do not use them. Notes change no rule for tools. Nothing about a patient is kept.</source>
            <translation>Wie Sie Antworten und Befunde wünschen und was in Ihrem Haus gilt. Sprachmodelle erfahren die angekreuzten Notizen, auch die auf anderen Rechnern; die Regeln, die offline antworten, verwenden sie nicht. Notizen ändern keine Regel für Werkzeuge. Über Patienten wird nichts gemerkt.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>http:// is not encrypted: use https:// if you can.</source>
            <translation>http:// ist nicht verschlüsselt: Verwenden Sie https://, wenn Sie können.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>I have read and accept the terms of {title}</source>
            <translation>Ich habe die Bedingungen von {title} gelesen und akzeptiere sie</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>ID {ident}</source>
            <translation>ID {ident}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Id, record number or name</source>
            <translation>Kennung, Aktennummer oder Name</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Identifier</source>
            <translation>Kennung</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Identifiers</source>
            <translation>Kennungen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/expert.py" />
            <location filename="../../app/tools/prior_pair.py" />
            <source>If they are of one patient, have the patient data of the files corrected.</source>
            <translation>Sind sie von einem Patienten, lassen Sie die Patientendaten der Dateien berichtigen.</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>Image</source>
            <translation>Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>image</source>
            <translation>Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/canvas.py" />
            <source>Image canvas</source>
            <translation>Bildfläche</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/roentgen.py" />
            <source>Image decoded</source>
            <translation>Bild dekodiert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Image files (DICOM and other), and other pixel data than those pictures</source>
            <translation>Bilddateien (DICOM und andere) und andere Pixeldaten als diese Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Image texts: all, no names, none</source>
            <translation>Bildtexte: alle, ohne Namen, keine</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Image {number}</source>
            <translation>Bild {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <location filename="../../app/views/documents/report_document.py" />
            <source>image {number}</source>
            <translation>Bild {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Image {number} / {count}</source>
            <translation>Bild {number} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Image: {image}</source>
            <translation>Bild: {image}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>ImageJ gives no unit of length</source>
            <translation>ImageJ gibt keine Längeneinheit an</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>Images found so far stay open; the rest was not read.</source>
            <translation>Bisher gefundene Bilder bleiben geöffnet; der Rest wurde nicht gelesen.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Images read</source>
            <translation>Bilder gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Imaging</source>
            <translation>Bildgebung</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Immunizations</source>
            <translation>Impfungen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>In any state</source>
            <translation>In jedem Zustand</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>In memory</source>
            <translation>Im Speicher</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>in the centre of the beam</source>
            <translation>in der Mitte des Strahls</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>in the chat: stop now, stop after this tool</source>
            <translation>im Chat: jetzt stoppen, nach diesem Werkzeug stoppen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>in the plane of the RT image</source>
            <translation>in der Ebene des RT-Bildes</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>in the standard space {0}, not in the patient's own</source>
            <translation>im Standardraum {0}, nicht im Raum des Patienten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>In words</source>
            <translation>In Worten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>In {folder}</source>
            <translation>In {folder}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>in, and</source>
            <translation>hinein und</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>in-progress</source>
            <translation>laufend</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>inactive</source>
            <translation>inaktiv</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Incomplete</source>
            <translation>Unvollständig</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>incomplete</source>
            <translation>unvollständig</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>inferred from</source>
            <translation>abgeleitet aus</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Infiltration</source>
            <translation>Infiltrat</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Install</source>
            <translation>Installieren</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Install a model from a file or model pack</source>
            <translation>Modell aus Datei oder Modellpaket installieren</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Install a model from a folder</source>
            <translation>Modell aus einem Ordner installieren</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/dinov3_net.py" />
            <source>Install DINOv3 (ViT or ConvNeXt) in transformers' form.</source>
            <translation>Installieren Sie DINOv3 (ViT oder ConvNeXt) in der Form von transformers.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/medgemma_net.py" />
            <source>Install it again, with all of its files.</source>
            <translation>Installieren Sie es erneut, mit allen Dateien.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/networks.py" />
            <source>Install it into Sightline's environment (`pip install {0}`; its weights have licences of their own), or use model classical.</source>
            <translation>Installieren Sie es in Sightlines Umgebung (`pip install {0}`; die Gewichte haben eigene Lizenzen), oder nehmen Sie das Modell classical.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <location filename="../../app/tools/models/sources.py" />
            <source>Install it with the Sightline that made it, or a later one.</source>
            <translation>Installieren Sie es mit dem Sightline, das es erstellt hat, oder einem neueren.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <source>Install microsoft/llava-med-v1.5-mistral-7b again.</source>
            <translation>Installieren Sie microsoft/llava-med-v1.5-mistral-7b erneut.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <source>Install microsoft/llava-med-v1.5-mistral-7b.</source>
            <translation>Installieren Sie microsoft/llava-med-v1.5-mistral-7b.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Install or download: {missing}</source>
            <translation>Installieren oder herunterladen: {missing}</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_files.py" />
            <source>Install Sightline with its AI packages.</source>
            <translation>Installieren Sie Sightline mit seinen KI-Paketen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>Install the full build. From source, set up with SIGHTLINE_TORCH=cuda.</source>
            <translation>Installieren Sie die volle Fassung. Aus dem Quelltext: mit SIGHTLINE_TORCH=cuda einrichten.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>Install the model again, from a source that you trust.</source>
            <translation>Installieren Sie das Modell erneut, aus einer Quelle, der Sie vertrauen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>Install the model again; a pack contains what was installed.</source>
            <translation>Installieren Sie das Modell erneut; ein Paket enthält, was installiert wurde.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Install {titles}?</source>
            <translation>{titles} installieren?</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Installed</source>
            <translation>Installiert</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Installed {time} UTC</source>
            <translation>Installiert {time} UTC</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Installed, intact</source>
            <translation>Installiert, unversehrt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Install…</source>
            <translation>Installieren…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>instance number</source>
            <translation>Instanznummer</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>instance number, then file name</source>
            <translation>Instanznummer, dann Dateiname</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Instances</source>
            <translation>Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Instructions from</source>
            <translation>Anweisungen aus</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Intent</source>
            <translation>Absicht</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Interpolate pixels enlarged up to 6 times; beyond, and when this is off, each pixel is a square</source>
            <translation>Bis zu 6-fach vergrößerte Pixel interpolieren; darüber, und wenn dies aus ist, ist jedes Pixel ein Quadrat</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Interpretation</source>
            <translation>Beurteilung</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Invert</source>
            <translation>Invertieren</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>invert; reset window and view</source>
            <translation>invertieren; Fensterung und Ansicht zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>INVERTED</source>
            <translation>INVERTIERT</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Invisible characters are shown as their codes.</source>
            <translation>Unsichtbare Zeichen werden als ihre Codes gezeigt.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Is it {title}?</source>
            <translation>Ist es {title}?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Is refused</source>
            <translation>Wird abgelehnt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>it asks for {0}: the image is fitted to the window instead</source>
            <translation>es verlangt {0}: Das Bild wird stattdessen in das Fenster eingepasst</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>it belongs to another frame of reference</source>
            <translation>sie gehört zu einem anderen Bezugssystem</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it breaks the rules of FHIR</source>
            <translation>sie verstößt gegen die Regeln von FHIR</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it breaks the rules of FHIR: {0}</source>
            <translation>sie verstößt gegen die Regeln von FHIR: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/futures.py" />
            <source>it cannot be decoded: an unexpected error</source>
            <translation>es kann nicht dekodiert werden: ein unerwarteter Fehler</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/futures.py" />
            <source>it cannot be decoded: {0}</source>
            <translation>es kann nicht dekodiert werden: {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>it cannot be deleted ({0})</source>
            <translation>es kann nicht gelöscht werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it cannot be opened: {0}</source>
            <translation>sie lässt sich nicht öffnen: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>it cannot be read ({0})</source>
            <translation>es ist nicht lesbar ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>it cannot be read: {0}</source>
            <translation>sie lässt sich nicht lesen: {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>it cannot be recorded ({0})</source>
            <translation>es kann nicht vermerkt werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>It cannot be saved: {reason}.</source>
            <translation>Es kann nicht gespeichert werden: {reason}.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it cannot be understood ({0})</source>
            <translation>sie ist nicht zu verstehen ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <location filename="../../app/tools/models/sources.py" />
            <source>it cannot be written ({0})</source>
            <translation>es kann nicht geschrieben werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/picture_files.py" />
            <location filename="../../app/views/results/exporting.py" />
            <source>it cannot be written ({strerror})</source>
            <translation>es kann nicht geschrieben werden ({strerror})</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <source>it cannot be written into the models folder ({0})</source>
            <translation>es kann nicht in den Modellordner geschrieben werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>It computes on this machine.</source>
            <translation>Es rechnet auf diesem Computer.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>it contains colour as {0}, which cannot be shown</source>
            <translation>es enthält Farbe als {0}, was nicht gezeigt werden kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it contains fractions or negative values: {0}</source>
            <translation>es enthält Brüche oder negative Werte: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it contains more than {0} different values: {1}</source>
            <translation>es enthält mehr als {0} verschiedene Werte: {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>it contains multi-frame images</source>
            <translation>es enthält Multiframe-Bilder</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_objects.py" />
            <source>it contains no PDF document</source>
            <translation>es enthält kein PDF-Dokument</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>it contains no pixels, only a header</source>
            <translation>es enthält keine Pixel, nur einen Header</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>it contains no pixels, only a link to a server that has them ({0})</source>
            <translation>es enthält keine Pixel, nur einen Verweis auf einen Server, der sie hat ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveform_values.py" />
            <source>it contains no waveform</source>
            <translation>es enthält keine Wellenform</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>it contains over {0} items: more than can be read safely</source>
            <translation>es enthält über {0} Einträge: mehr, als sicher gelesen werden können</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>it contains samples of the type "{0}", which is unknown</source>
            <translation>es enthält Werte des Typs „{0}“, der unbekannt ist</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>it contains several snapshots, or none</source>
            <translation>es enthält mehrere Stände oder keinen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/sniffing.py" />
            <source>it contains the pixels of {0} and nothing that describes them</source>
            <translation>es enthält die Pixel von {0} und nichts, was sie beschreibt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/opened_paths.py" />
            <source>it contains too many files</source>
            <translation>es enthält zu viele Dateien</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>it contains {0} frames, not {1}</source>
            <translation>es enthält {0} Frames, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>it contains {0} images, not {1}</source>
            <translation>es enthält {0} Bilder, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>it contains {0} slices, not {1}</source>
            <translation>es enthält {0} Schichten, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>it contains {0} volumes, not {1}</source>
            <translation>es enthält {0} Volumen, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveform_values.py" />
            <source>it contains {0} waveforms, not {1}</source>
            <translation>es enthält {0} Wellenformen, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>it contains {0}, which cannot be shown as an image</source>
            <translation>es enthält {0}, was nicht als Bild gezeigt werden kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>it contradicts a finding</source>
            <translation>es widerspricht einem Befund</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>it could not be downloaded ({0})</source>
            <translation>es konnte nicht heruntergeladen werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>it could not be saved ({0})</source>
            <translation>es konnte nicht gespeichert werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>it declares a picture that is too large to be opened safely</source>
            <translation>es gibt ein Bild an, das zu groß ist, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>it declares a size that it cannot have</source>
            <translation>es gibt eine Größe an, die es nicht haben kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>it declares a volume of {0} x {1} x {2} voxels, too large to be opened safely</source>
            <translation>es gibt ein Volumen von {0} x {1} x {2} Voxeln an, zu groß, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>it declares an image of {0} x {1} pixels, too large to be opened safely</source>
            <translation>es gibt ein Bild von {0} x {1} Pixeln an, zu groß, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>it declares no channels</source>
            <translation>es gibt keine Kanäle an</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>it declares planes of {0} x {1} pixels, too large to be opened safely</source>
            <translation>es gibt Ebenen von {0} x {1} Pixeln an, zu groß, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>it declares {0} dimensions</source>
            <translation>es gibt {0} Dimensionen an</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>it declares {0} frames, which cannot be right</source>
            <translation>es gibt {0} Frames an, was nicht stimmen kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>it declares {0} samples per pixel, which no image has</source>
            <translation>es gibt {0} Werte je Pixel an, was kein Bild hat</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>it declares {0} volumes, which cannot be right</source>
            <translation>es gibt {0} Volumen an, was nicht stimmen kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>it declares {0}, but its compressed data holds {1}</source>
            <translation>es gibt {0} an, die komprimierten Daten enthalten aber {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segment_index.py" />
            <source>it describes only {0} of its {1} frames</source>
            <translation>es beschreibt nur {0} von {1} Frames</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>it differs in "{0}"</source>
            <translation>„{0}“ ist anders</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it does not answer as a FHIR server</source>
            <translation>er antwortet nicht wie ein FHIR-Server</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it does not say how it lies in the patient</source>
            <translation>es sagt nicht, wie es im Patienten liegt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>it does not say on which frame of its image it lies</source>
            <translation>sie sagt nicht, auf welchem Frame ihres Bildes sie liegt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>it does not say where the voxels are</source>
            <translation>es sagt nicht, wo die Voxel sind</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>it does not say where the voxels begin</source>
            <translation>es sagt nicht, wo die Voxel beginnen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>it does not say which end is white: the image's own polarity is kept</source>
            <translation>es sagt nicht, welches Ende weiß ist: Die Polarität des Bildes bleibt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>it draws nothing over images</source>
            <translation>es zeichnet nichts über Bilder</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <location filename="../../app/views/pictures/picture_files.py" />
            <source>it exists already</source>
            <translation>es gibt sie bereits</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>It failed without a reason.</source>
            <translation>Es ist ohne Angabe eines Grundes fehlgeschlagen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>it gives no grey window for some images: their full range is shown</source>
            <translation>es gibt für einige Bilder kein Graufenster: Der volle Bereich wird gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>it has another scale</source>
            <translation>sie hat einen anderen Maßstab</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>it has another size</source>
            <translation>sie ist anders groß</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it has exactly as many voxels as the image, but lies up to {0} mm away from it, so one of the two has lost its position</source>
            <translation>es hat genau so viele Voxel wie das Bild, liegt aber bis zu {0} mm davon entfernt, also hat eines von beiden seine Position verloren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>it has fewer than two slices</source>
            <translation>es hat weniger als zwei Schichten</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it has halves of characters, which are no Unicode text</source>
            <translation>sie enthält halbe Zeichen, die kein Unicode-Text sind</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>it has no end</source>
            <translation>es hat kein Ende</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>it has no SOP Class UID or SOP Instance UID</source>
            <translation>sie hat keine SOP Class UID oder SOP Instance UID</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it has no such patient</source>
            <translation>er hat keinen solchen Patienten</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it has over {0} GiB of text</source>
            <translation>sie hat über {0} GiB Text</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it has over {0} MiB of text, the most that is read of one JSON value: ask for NDJSON</source>
            <translation>sie hat über {0} MiB Text, das Höchste, was von einem JSON-Wert gelesen wird: bitten Sie um NDJSON</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it has the key {0} twice</source>
            <translation>sie hat den Schlüssel {0} zweimal</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>it has the SOP Instance UID as {0}, but is another image</source>
            <translation>es hat dieselbe SOP Instance UID wie {0}, ist aber ein anderes Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>it has the {0} as {1}, but is another image</source>
            <translation>es hat dieselbe {0} wie {1}, ist aber ein anderes Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>it has too many points</source>
            <translation>sie hat zu viele Punkte</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>it has {0} frames; there is no {1}th</source>
            <translation>es hat {0} Frames; ein {1}. gibt es nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/pdf_file.py" />
            <source>it has {0} pages, not {1}</source>
            <translation>es hat {0} Seiten, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>it has {0} sections, not {1}</source>
            <translation>es hat {0} Schnitte, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/pixels/regions.py" />
            <source>it has {0}, not {1}</source>
            <translation>sie hat {0}, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/finding_files.py" />
            <source>it holds no findings in the known JSON form</source>
            <translation>sie enthält keine Befunde in der bekannten JSON-Form</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>it inflates to more than an image needs, and is too large to be opened safely</source>
            <translation>es entpackt sich zu mehr, als ein Bild braucht, und ist zu groß, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>it is a copy of {0} (same SOP Instance UID), which is listed</source>
            <translation>es ist eine Kopie von {0} (gleiche SOP Instance UID), das aufgeführt ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/copies.py" />
            <source>it is a copy of {0}, which is listed</source>
            <translation>es ist eine Kopie von {0}, das aufgeführt ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>it is a device or a pipe, not a file</source>
            <translation>es ist ein Gerät oder eine Pipe, keine Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>it is a folder, not a file</source>
            <translation>es ist ein Ordner, keine Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>it is a link that leads out of the DICOMDIR's folder</source>
            <translation>es ist ein Link, der aus dem Ordner des DICOMDIR hinausführt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>it is a link that leads out of the folder, which is not followed</source>
            <translation>es ist ein Link, der aus dem Ordner hinausführt und dem nicht gefolgt wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>it is a link that leads out of the output folder</source>
            <translation>es ist ein Link, der aus dem Zielordner hinausführt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>it is a link to a folder, which is not followed</source>
            <translation>es ist ein Link auf einen Ordner, dem nicht gefolgt wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>it is a link, which is not followed</source>
            <translation>es ist ein Link, dem nicht gefolgt wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>it is a localiser</source>
            <translation>es ist eine Übersichtsaufnahme (Localizer)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <source>it is a mask on a section of a volume</source>
            <translation>es ist eine Maske auf einem Schnitt durch ein Volumen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>It is a program that runs on this computer, with all your rights. It gets what is sent as it is, with names and dates, and may hand that on.</source>
            <translation>Es ist ein Programm, das auf diesem Rechner mit all Ihren Rechten läuft. Es bekommt, was gesendet wird, so wie es ist, mit Namen und Daten, und kann das weitergeben.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>it is a report without any content</source>
            <translation>es ist ein Bericht ohne Inhalt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>it is a video ({0}), which cannot be shown here</source>
            <translation>es ist ein Video ({0}), das hier nicht gezeigt werden kann</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it is a ZIP archive: unpack it, and open the folder</source>
            <translation>sie ist ein ZIP-Archiv: entpacken Sie es und öffnen Sie den Ordner</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>it is about several images, and does not say which one its coordinates refer to</source>
            <translation>es betrifft mehrere Bilder und sagt nicht, auf welches sich die Koordinaten beziehen</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it is an empty list</source>
            <translation>sie ist eine leere Liste</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it is another patient's than the image</source>
            <translation>es ist von einem anderen Patienten als das Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>It is at an address of this computer. It gets what is sent as it is, with names and dates, and may hand that on.</source>
            <translation>Er hat eine Adresse dieses Rechners. Er bekommt, was gesendet wird, so wie es ist, mit Namen und Daten, und kann das weitergeben.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>It is being looked up.</source>
            <translation>Es wird nachgesehen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>it is compressed in a way that cannot be decoded here ({0})</source>
            <translation>es ist auf eine Weise komprimiert, die hier nicht dekodiert werden kann ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>it is compressed in a way that is not supported</source>
            <translation>es ist auf eine Weise komprimiert, die nicht unterstützt wird</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>It is copied without the patient's name and dates.</source>
            <translation>Es ist ohne Namen und Daten des Patienten kopiert.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>it is cut off</source>
            <translation>sie ist abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>it is cut short, or not a NIfTI header</source>
            <translation>es ist abgeschnitten oder kein NIfTI-Header</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>it is damaged</source>
            <translation>es ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>it is damaged or no CUDA pack</source>
            <translation>es ist beschädigt oder kein CUDA-Paket</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>it is declared to show features by which the patient may be recognised</source>
            <translation>sie zeigt laut ihrer Angabe Merkmale, an denen der Patient erkannt werden kann</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>It is drafted anew from the findings.</source>
            <translation>Er wird aus den Befunden neu entworfen.</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>It is drawn over images that are not open. Open the study it belongs to.</source>
            <translation>Es wird über Bilder gezeichnet, die nicht geöffnet sind. Öffnen Sie die zugehörige Studie.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it is empty</source>
            <translation>sie ist leer</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>it is for torch {0}, and this Sightline has torch {1}</source>
            <translation>es ist für torch {0}, dieses Sightline hat torch {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it is in colour or rescaled: {0}</source>
            <translation>es ist farbig oder skaliert: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>it is negated otherwise</source>
            <translation>die Verneinung ist anders</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>it is nested too deeply</source>
            <translation>sie ist zu tief verschachtelt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>it is no DICOM image, so that no DICOM object can refer to it</source>
            <translation>es ist kein DICOM-Bild, auf das sich ein DICOM-Objekt beziehen könnte</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>it is no FHIR resource: it has no resourceType</source>
            <translation>sie ist keine FHIR-Ressource: resourceType fehlt</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>it is no FHIR resource: no JSON object</source>
            <translation>sie ist keine FHIR-Ressource: kein JSON-Objekt</translation>
        </message>
        <message>
            <location filename="../../app/records/record_files.py" />
            <source>it is no file</source>
            <translation>es ist keine Datei</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it is no intact gzip file</source>
            <translation>sie ist keine unversehrte gzip-Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>it is no part of a study</source>
            <translation>sie ist kein Teil einer Studie</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>it is no text in UTF-8 (byte {0})</source>
            <translation>sie ist kein Text in UTF-8 (Byte {0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>it is no valid JSON: {0} ({1})</source>
            <translation>sie ist kein gültiges JSON: {0} ({1})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>it is not a DICOM file</source>
            <translation>es ist keine DICOM-Datei</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/policy.py" />
            <source>it is not a JSON object</source>
            <translation>es ist kein JSON-Objekt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/sniffing.py" />
            <source>it is not an image</source>
            <translation>es ist kein Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>it is not as exact as before</source>
            <translation>es ist nicht so genau wie zuvor</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>It is not available for Python 3.14 yet: use Python 3.11 to 3.13.</source>
            <translation>Es gibt es noch nicht für Python 3.14: Verwenden Sie Python 3.11 bis 3.13.</translation>
        </message>
        <message>
            <location filename="../../app/tools/registry.py" />
            <source>It is not run. Start Sightline again, or remove the pack that brings it.</source>
            <translation>Es wird nicht ausgeführt. Starten Sie Sightline neu oder entfernen Sie das Paket, zu dem es gehört.</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>it is of a patient who is not there, or not the only one meant: {0}</source>
            <translation>sie gehört zu einem Patienten, der nicht da oder nicht eindeutig ist: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>It is on another computer: names, ids and dates of the open studies and records are removed from what is sent to it.</source>
            <translation>Er ist auf einem anderen Rechner: Namen, Kennungen und Daten der offenen Studien und Akten werden aus dem entfernt, was ihm gesendet wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>It is on this computer.</source>
            <translation>Er ist auf diesem Rechner.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>it is protected by a password</source>
            <translation>es ist durch ein Passwort geschützt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/finding_files.py" />
            <source>it is too large for findings</source>
            <translation>sie ist zu groß für Befunde</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>it is too large to be opened inside an archive</source>
            <translation>es ist zu groß, um in einem Archiv geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>It is used from the next start of Sightline on.</source>
            <translation>Sie wird ab dem nächsten Start von Sightline verwendet.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>it is XML; only the JSON form of FHIR is read: ask for a JSON export</source>
            <translation>sie ist XML; nur die JSON-Form von FHIR wird gelesen: bitten Sie um einen JSON-Export</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/sniffing.py" />
            <source>it is {0}, not an image that can be shown</source>
            <translation>es ist {0}, kein Bild, das gezeigt werden kann</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>it leads from https to http, which is not safe</source>
            <translation>es führt von https zu http, was nicht sicher ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>it lies in a whole slide, not in one image of it</source>
            <translation>sie liegt in einem ganzen Objektträger, nicht in einem Bild davon</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>it lies in another plane, or is turned</source>
            <translation>sie liegt in einer anderen Ebene oder ist gedreht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <source>it lies on a section of a volume without a frame of reference</source>
            <translation>sie liegt auf einem Schnitt durch ein Volumen ohne Bezugssystem (Frame of Reference)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <source>it lies on a section of a volume, to which only a structured report can refer</source>
            <translation>sie liegt auf einem Schnitt durch ein Volumen, auf den nur ein strukturierter Bericht verweisen kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>it lies on another pixel grid than the slices: not drawn on sections through them</source>
            <translation>es liegt auf einem anderen Pixelraster als die Schichten: auf Schnitten hindurch nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>it lies outside its image</source>
            <translation>sie liegt außerhalb ihres Bildes</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>it lists studies by name</source>
            <translation>sie listet Studien mit Namen auf</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>It must be a series or a volume with positions</source>
            <translation>Es muss eine Serie oder ein Volumen mit Positionen sein</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/roentgen.py" />
            <source>It must be as diffusers saves one (model_index.json, text_encoder, tokenizer, unet, vae, scheduler). Install it again with `{0} models install PATH --name roentgen`.</source>
            <translation>Er muss so sein, wie diffusers ihn speichert (model_index.json, text_encoder, tokenizer, unet, vae, scheduler). Installieren Sie ihn erneut mit `{0} models install PATH --name roentgen`.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>it names a file outside of its folder, which is not opened</source>
            <translation>es nennt eine Datei außerhalb seines Ordners, die nicht geöffnet wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>it names no image, so it is applied to none</source>
            <translation>es nennt kein Bild und wird daher auf keines angewendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_targets.py" />
            <source>it names this image, but belongs to another patient: not drawn</source>
            <translation>es nennt dieses Bild, gehört aber zu einem anderen Patienten: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_targets.py" />
            <source>it names this image, but has another frame of reference: not drawn</source>
            <translation>es nennt dieses Bild, hat aber ein anderes Bezugssystem: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>it names this image, but neither pixel grid nor position say where: not drawn</source>
            <translation>es nennt dieses Bild, aber weder Pixelraster noch Position sagen, wo: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>it names this image, but not which of its frames: not drawn</source>
            <translation>es nennt dieses Bild, aber nicht, welches der Frames: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>it names this image, which has no position in the patient: not drawn</source>
            <translation>es nennt dieses Bild, das keine Position im Patienten hat: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>it names {0} more files that cannot be read</source>
            <translation>es nennt {0} weitere Dateien, die nicht lesbar sind</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <source>it no longer contains {0}</source>
            <translation>es enthält {0} nicht mehr</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>It offers no tools.</source>
            <translation>Er bietet keine Werkzeuge an.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>It only reads what is open.</source>
            <translation>Es liest nur, was geöffnet ist.</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>it refers to what is not there: {0}</source>
            <translation>sie verweist auf etwas, das nicht da ist: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>It runs a program on this machine.</source>
            <translation>Es führt ein Programm auf diesem Computer aus.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>it says "{0}" twice</source>
            <translation>es sagt „{0}“ zweimal</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>It sends data to another machine.</source>
            <translation>Es sendet Daten an einen anderen Computer.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it sends the request elsewhere, which is not followed ({0})</source>
            <translation>er leitet die Anfrage um, dem wird nicht gefolgt ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it sends too slowly</source>
            <translation>er sendet zu langsam</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it sent a compressed answer, not asked for</source>
            <translation>er hat eine komprimierte Antwort gesendet, um die nicht gebeten war</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it sent a page of over {0} MiB</source>
            <translation>er hat eine Seite von über {0} MiB gesendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>it skips bytes inside compressed voxels: not supported</source>
            <translation>es überspringt Bytes in komprimierten Voxeln: nicht unterstützt</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>it speaks FHIR {0}; FHIR R4 is needed</source>
            <translation>er spricht FHIR {0}; nötig ist FHIR R4</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>it tells things in another order, so a figure may have passed to another</source>
            <translation>die Reihenfolge ist anders, eine Zahl kann zu etwas anderem geraten sein</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>It was called in a conversation that isn't open.</source>
            <translation>Der Aufruf war in einem Gespräch, das nicht offen ist.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>it was made on another study than the image</source>
            <translation>es wurde an einer anderen Studie als das Bild erstellt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <source>it was made on another version of the image, with other pixels</source>
            <translation>sie wurde auf einer anderen Fassung des Bildes mit anderen Pixeln gemacht</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>It would be too small or too large for the screen.</source>
            <translation>Es wäre zu klein oder zu groß für den Bildschirm.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>It writes files outside this conversation's own folder.</source>
            <translation>Es schreibt Dateien außerhalb des Ordners dieses Gesprächs.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>its animation has {0} frames, too many to be shown</source>
            <translation>die Animation hat {0} Frames, zu viele, um gezeigt zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>its axes are not perpendicular (sform)</source>
            <translation>die Achsen stehen nicht senkrecht zueinander (sform)</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>its card does not allow code</source>
            <translation>seine Karte erlaubt keinen Code</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/file_readers.py" />
            <source>its channels are not in millivolts, so that it is no ECG</source>
            <translation>seine Kanäle sind nicht in Millivolt, es ist also kein EKG</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>its colour model ({0} with {1} samples a pixel) cannot be shown</source>
            <translation>das Farbmodell ({0} mit {1} Werten je Pixel) kann nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>its colour model ({0}) cannot be shown</source>
            <translation>das Farbmodell ({0}) kann nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its colour palette</source>
            <translation>die Farbpalette</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>its colour palette is missing or damaged</source>
            <translation>die Farbpalette fehlt oder ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>its colours are those of {0}, which cannot be shown</source>
            <translation>die Farben sind die von {0}, die nicht gezeigt werden können</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>its compressed data is damaged: its own description cannot be right</source>
            <translation>die komprimierten Daten sind beschädigt: Ihre eigene Beschreibung kann nicht stimmen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>its compressed data set is damaged</source>
            <translation>der komprimierte Datensatz ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>its compressed pixels are damaged</source>
            <translation>die komprimierten Pixel sind beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>its compressed voxels are damaged</source>
            <translation>die komprimierten Voxel sind beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>its compression ({0}) cannot be decoded</source>
            <translation>die Kompression ({0}) kann nicht dekodiert werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>its content is damaged</source>
            <translation>ihr Inhalt ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Its conversation isn't kept, so its arguments are not known.</source>
            <translation>Das Gespräch dazu ist nicht aufbewahrt, die Argumente sind also nicht bekannt.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>its coordinates are cut short; not drawn</source>
            <translation>die Koordinaten sind abgeschnitten; nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>its coordinates are damaged</source>
            <translation>ihre Koordinaten sind beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>its coordinates are damaged; not drawn</source>
            <translation>die Koordinaten sind beschädigt; nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>its coordinates are in mm, and this image has no position: not drawn</source>
            <translation>die Koordinaten sind in mm, und dieses Bild hat keine Position: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Its files are recorded as they are now, so that any later change is detected.</source>
            <translation>Die Dateien werden so erfasst, wie sie jetzt sind, damit jede spätere Änderung bemerkt wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Its finding does not say: {told}</source>
            <translation>Ihr Befund sagt nicht: {told}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>its frame of reference is not the image's: positions cannot be compared</source>
            <translation>das Bezugssystem ist nicht das des Bildes: Positionen können nicht verglichen werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>its further channels are not shown</source>
            <translation>weitere Kanäle werden nicht gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>its header declares more voxels than a file of its size can hold</source>
            <translation>der Header gibt mehr Voxel an, als eine Datei dieser Größe enthalten kann</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>its header does not allow this DICOM object; the attribute could not be found</source>
            <translation>sein Kopf lässt dieses DICOM-Objekt nicht zu; das Attribut war nicht zu finden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>its header is damaged</source>
            <translation>der Header ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveform_values.py" />
            <source>its header is damaged: channels, samples or sampling frequency are impossible</source>
            <translation>der Header ist beschädigt: Kanäle, Abtastwerte oder Abtastfrequenz sind unmöglich</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>its header is damaged: it contains an element with very many values or letters</source>
            <translation>der Header ist beschädigt: Er enthält ein Element mit sehr vielen Werten oder Buchstaben</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>its header is damaged: it contains more elements than can be read safely</source>
            <translation>der Header ist beschädigt: Er enthält mehr Elemente, als sicher gelesen werden können</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>its header is damaged: it lists very many character sets</source>
            <translation>der Header ist beschädigt: Er nennt sehr viele Zeichensätze</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>its header is damaged: {0}</source>
            <translation>der Header ist beschädigt: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>its header is damaged: {0} is not a number</source>
            <translation>der Header ist beschädigt: {0} ist keine Zahl</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>its header is damaged: {0} of {1} bits per pixel</source>
            <translation>der Header ist beschädigt: {0} von {1} Bits je Pixel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>its header lacks {0}, to which an object would refer</source>
            <translation>seinem Kopf fehlt {0}, worauf sich ein Objekt beziehen würde</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>its header lacks {0}, which this object needs</source>
            <translation>seinem Kopf fehlt {0}, was dieses Objekt braucht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_gsps.py" />
            <source>its image has another size or scale of greys</source>
            <translation>ihr Bild hat eine andere Größe oder Grauskala</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>its image has no such frame</source>
            <translation>ihr Bild hat diesen Frame nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>its image is not open</source>
            <translation>ihr Bild ist nicht geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>its images are in colour</source>
            <translation>die Bilder sind farbig</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>its images are not parallel</source>
            <translation>die Bilder sind nicht parallel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>its images do not say where they lie in the patient</source>
            <translation>die Bilder sagen nicht, wo im Patienten sie liegen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>its images have different pixel spacings</source>
            <translation>die Bilder haben verschiedene Pixelabstände</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>its images have different sizes</source>
            <translation>die Bilder haben verschiedene Größen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>its images have several frames of reference</source>
            <translation>die Bilder haben verschiedene Bezugssysteme</translation>
        </message>
        <message>
            <location filename="../../app/views/layer_loading.py" />
            <source>Its images may not be open</source>
            <translation>Vielleicht sind seine Bilder nicht geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>its interleaved volumes are too large to be opened safely</source>
            <translation>die verschachtelten Volumen sind zu groß, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/audit/log.py" />
            <source>its key cannot be read or kept ({0})</source>
            <translation>der Schlüssel kann nicht gelesen oder aufbewahrt werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/audit/log.py" />
            <source>its key is in the system keyring, which does not give it out</source>
            <translation>der Schlüssel liegt im Schlüsselbund des Systems, der ihn nicht herausgibt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>its kind is not one of the standard, so that nobody knows what is in it</source>
            <translation>ihre Art ist keine des Standards, so dass niemand weiß, was darin ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>its kind of shape is unknown; not drawn</source>
            <translation>Art der Form unbekannt; nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>its labels lie on slices that are not evenly spaced</source>
            <translation>die Labels liegen auf Schichten mit ungleichen Abständen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its modality lookup table is damaged and not applied</source>
            <translation>die Modality-Lookup-Tabelle ist beschädigt und wird nicht angewendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>its name is empty or leads out of the archive</source>
            <translation>der Name ist leer oder führt aus dem Archiv hinaus</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>its name or path is too long</source>
            <translation>der Name oder Pfad ist zu lang</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>its OME description declares an impossible number of planes</source>
            <translation>die OME-Beschreibung gibt eine unmögliche Zahl von Ebenen an</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>its OME description is damaged</source>
            <translation>die OME-Beschreibung ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>its OME description is not safe to read</source>
            <translation>die OME-Beschreibung kann nicht sicher gelesen werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>its OME description names other files or is damaged: planes in the file's order</source>
            <translation>die OME-Beschreibung nennt andere Dateien oder ist beschädigt: Ebenen in der Reihenfolge der Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its overlay {0} is damaged and not shown</source>
            <translation>das Overlay {0} ist beschädigt und wird nicht gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>its parts lie on several images</source>
            <translation>ihre Teile liegen auf mehreren Bildern</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>its pixels are compressed, though declared uncompressed ({0})</source>
            <translation>die Pixel sind komprimiert, obwohl als unkomprimiert bezeichnet ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>its pixels are cut off</source>
            <translation>ihre Pixel sind abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>its pixels are damaged or cut short</source>
            <translation>die Pixel sind beschädigt oder abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>its pixels are damaged or cut short ({0} compression)</source>
            <translation>die Pixel sind beschädigt oder abgeschnitten ({0}-Kompression)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>its pixels are missing</source>
            <translation>ihre Pixel fehlen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>its pixels take too much room without compression</source>
            <translation>ihre Pixel brauchen ohne Kompression zu viel Platz</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>its place in the patient is not known, unlike that of the marks, or the reverse</source>
            <translation>ihr Ort im Patienten ist nicht bekannt, anders als der der Markierungen, oder umgekehrt</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>its place in the patient is outside this image</source>
            <translation>ihr Ort im Patienten liegt außerhalb dieses Bildes</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>its points and lines are not drawn on sections, only on acquired images</source>
            <translation>Punkte und Linien werden nicht auf Schnitten gezeichnet, nur auf aufgenommenen Bildern</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its presentation lookup table is damaged and not applied</source>
            <translation>die Presentation-Lookup-Tabelle ist beschädigt und wird nicht angewendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>its printing colours cannot be shown</source>
            <translation>die Druckfarben können nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Its program code has changed since you allowed it.</source>
            <translation>Der Programmcode hat sich geändert, seit Sie ihn erlaubt haben.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Its publisher asks for a login, and for its terms to be accepted there.</source>
            <translation>Der Herausgeber verlangt eine Anmeldung und dass dort seine Bedingungen akzeptiert werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Its publisher provides it in another way</source>
            <translation>Der Herausgeber stellt es auf anderem Weg bereit</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Its publisher provides it only to those who have accepted its terms there.</source>
            <translation>Der Herausgeber gibt es nur an Personen ab, die dort seine Bedingungen akzeptiert haben.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Its publisher's own program code can come with the weights. It is run only after your yes.</source>
            <translation>Mit den Gewichten kann Programmcode des Herausgebers kommen. Er wird nur nach Ihrem Ja ausgeführt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Its questions, answers, results and pictures, also those of its earlier versions, are removed from this computer, the log of what was done is not. Files that you exported stay where you saved them.</source>
            <translation>Die Fragen, Antworten, Ergebnisse und Bilder, auch die früherer Fassungen, werden von diesem Computer entfernt, das Protokoll der Vorgänge nicht. Exportierte Dateien bleiben, wo Sie sie gespeichert haben.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>its reference and its position disagree: drawn by position</source>
            <translation>Verweis und Position widersprechen sich: nach der Position gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its rotation is not by quarter turns and not applied</source>
            <translation>die Drehung geht nicht um Vierteldrehungen und wird nicht angewendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>its rows and columns are not perpendicular: no lengths</source>
            <translation>Zeilen und Spalten stehen nicht senkrecht zueinander: keine Längen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveform_values.py" />
            <source>its samples are of an unknown form ({0}, {1} bits)</source>
            <translation>die Abtastwerte haben eine unbekannte Form ({0}, {1} Bits)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>its segments overlap</source>
            <translation>die Segmente überlappen sich</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>its sform and qform disagree about its orientation: its sform is used</source>
            <translation>sform und qform widersprechen sich in der Ausrichtung: Die sform wird verwendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>its sform has voxels of {0} mm, its header of {1} mm: its sform is used</source>
            <translation>die sform hat Voxel von {0} mm, der Header von {1} mm: Die sform wird verwendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its shutter is damaged and not applied</source>
            <translation>die Blende (Shutter) ist beschädigt und wird nicht angewendet</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Its size is known only once the host is contacted.</source>
            <translation>Die Größe ist erst bekannt, wenn der Host gefragt ist.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>its sizes are not whole numbers</source>
            <translation>die Größen sind keine ganzen Zahlen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>its sizes do not fit its number of dimensions</source>
            <translation>die Größen passen nicht zur Zahl der Dimensionen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>its slices do not line up</source>
            <translation>die Schichten fluchten nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>its space directions do not fit its number of dimensions</source>
            <translation>die Raumrichtungen passen nicht zur Zahl der Dimensionen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Its tools are called mcp_NAME_TOOL.</source>
            <translation>Seine Werkzeuge heißen mcp_NAME_WERKZEUG.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Its tools are off until you allow them again</source>
            <translation>Seine Werkzeuge sind aus, bis Sie sie wieder erlauben</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Its tools can be used once the settings are saved.</source>
            <translation>Seine Werkzeuge können verwendet werden, sobald die Einstellungen gespeichert sind.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>its true size on the screen</source>
            <translation>die wahre Größe auf dem Bildschirm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>its video stream was copied as it is; text between its pictures cannot be removed</source>
            <translation>ihr Videostrom wurde unverändert kopiert; Text zwischen den Bildern kann nicht entfernt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>its volume would take {0} GB of memory</source>
            <translation>das Volumen bräuchte {0} GB Arbeitsspeicher</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>its voxels are encoded as "{0}", which is unknown</source>
            <translation>die Voxel sind als „{0}“ kodiert, was unbekannt ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>its voxels are in a file of another folder</source>
            <translation>die Voxel liegen in einer Datei eines anderen Ordners</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>its voxels are in a file of another folder, which is not opened for it</source>
            <translation>die Voxel sind in einer Datei eines anderen Ordners, die dafür nicht geöffnet wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>its voxels are in {0}, which is missing</source>
            <translation>die Voxel sind in {0}, was fehlt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>its voxels are not numbers</source>
            <translation>die Voxel sind keine Zahlen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>its voxels are spread over several files, which is not supported</source>
            <translation>die Voxel sind auf mehrere Dateien verteilt, was nicht unterstützt wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>its voxels are written as text, too long to be read safely</source>
            <translation>die Voxel sind als Text geschrieben, zu lang, um sicher gelesen zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>its voxels begin far beyond its end</source>
            <translation>die Voxel beginnen weit hinter dem Ende</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>its YCbCr colours cannot be shown</source>
            <translation>die YCbCr-Farben können nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>its {0} is not a number</source>
            <translation>{0} ist darin keine Zahl</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>JPEG (smaller, not exact)</source>
            <translation>JPEG (kleiner, nicht exakt)</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>JPEG quality</source>
            <translation>JPEG-Qualität</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>JSON (*.json)</source>
            <translation>JSON (*.json)</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>JSON in the text</source>
            <translation>JSON im Text</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>JSON schema</source>
            <translation>JSON-Schema</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Jump to the latest message</source>
            <translation>Zur neuesten Nachricht springen</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Keep a copy of its folder and tell this computer's administrator.</source>
            <translation>Bewahren Sie eine Kopie des Ordners auf und informieren Sie den Administrator dieses Computers.</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep dates and times as they are</source>
            <translation>Datums- und Zeitangaben unverändert behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep drawn marks, with the common words of their texts</source>
            <translation>Gezeichnete Markierungen behalten, mit den gewöhnlichen Wörtern ihrer Texte</translation>
        </message>
        <message>
            <location filename="../../app/tools/kept_values.py" />
            <source>Keep large data in files, and their paths here.</source>
            <translation>Große Daten gehören in Dateien, hierher nur deren Pfade.</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep private numbers that the standard lists as safe</source>
            <translation>Private Zahlen behalten, die der Standard als unbedenklich aufführt</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep station names and serial numbers of devices</source>
            <translation>Stationsnamen und Seriennummern der Geräte behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep the common words of descriptions and comments</source>
            <translation>Die gewöhnlichen Wörter von Beschreibungen und Kommentaren behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep the common words of reports</source>
            <translation>Die gewöhnlichen Wörter von Befunden behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep the institution's name and address</source>
            <translation>Name und Anschrift der Einrichtung behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep the patient's sex, age, size, weight and the like</source>
            <translation>Geschlecht, Alter, Größe, Gewicht und dergleichen behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep the time between dates: all of a patient move alike</source>
            <translation>Zeitabstände behalten: alle Datumsangaben eines Patienten werden gleich verschoben</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/window_hint.py" />
            <source>Keep the window of the file</source>
            <translation>Fensterung der Datei behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Keep this layout for studies like this</source>
            <translation>Dieses Layout für solche Studien behalten</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Keep UIDs: whoever has the originals can find them by these</source>
            <translation>UIDs behalten: Wer die Originale hat, findet sie damit</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Key</source>
            <translation>Schlüssel</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Key image</source>
            <translation>Schlüsselbild</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Key images</source>
            <translation>Schlüsselbilder</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Key images; if none is marked as one, this image and those with marks</source>
            <translation>Schlüsselbilder; ist keines als solches markiert, dieses Bild und die mit Markierungen</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Keyboard and mouse</source>
            <translation>Tastatur und Maus</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Keyboard shortcuts</source>
            <translation>Tastenkürzel</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>Keys and gestures</source>
            <translation>Tasten und Gesten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Keys of other hosts</source>
            <translation>Schlüssel anderer Hosts</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/lists.py" />
            <source>Keys on a row: + present, - absent, 0 unknown, Space the next of these</source>
            <translation>Tasten in einer Zeile: + vorhanden, - nicht vorhanden, 0 unbekannt, Leertaste das nächste davon</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Keys on the image</source>
            <translation>Tasten auf dem Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Kind</source>
            <translation>Art</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Kind of action</source>
            <translation>Art der Aktion</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Label volumes</source>
            <translation>Label-Volumen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>Labels from a file, overlaid on the image</source>
            <translation>Labels aus einer Datei, über das Bild gelegt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>Labels of Sightline without a published code</source>
            <translation>Bezeichnungen von Sightline ohne veröffentlichten Code</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_data.py" />
            <source>Laboratory results</source>
            <translation>Laborwerte</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Labs</source>
            <translation>Labor</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Language</source>
            <translation>Sprache</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Language chosen</source>
            <translation>Sprache gewählt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Language model</source>
            <translation>Sprachmodell</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Language model: {model}</source>
            <translation>Sprachmodell: {model}</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>larger</source>
            <translation>größer</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/printing.py" />
            <source>larger than the page: only its middle is printed</source>
            <translation>größer als die Seite: nur die Mitte ist gedruckt</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Last changed</source>
            <translation>Zuletzt geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>Last slice</source>
            <translation>Letzte Schicht</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Lay out viewports</source>
            <translation>Viewports anordnen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Layer</source>
            <translation>Overlay</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>Layers</source>
            <translation>Overlays</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Layers of the image</source>
            <translation>Overlays des Bildes</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/viewports/layout_menu.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Layout</source>
            <translation>Layout</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Layout of viewports, and what is linked among them</source>
            <translation>Layout der Viewports, und was unter ihnen verknüpft ist</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>layouts of 1, 2, 3, 2x2, 1+2, 1+3</source>
            <translation>Layouts: 1, 2, 3, 2x2, 1+2, 1+3</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Learned: {text}</source>
            <translation>Erfahren: {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Least series</source>
            <translation>Mindestens Serien</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>leave a tool, or stop the assistant</source>
            <translation>ein Werkzeug weglegen oder den Assistenten stoppen</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/providers.py" />
            <source>Leave out names, passwords and what follows a question mark; a key has its own field.</source>
            <translation>Lassen Sie Namen, Passwörter und alles nach einem Fragezeichen weg; für den Schlüssel gibt es ein eigenes Feld.</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>Leave patient_id out to measure the file for itself.</source>
            <translation>Lassen Sie patient_id weg, um die Datei für sich zu messen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>Leave them out of SIGHTLINE_HUB: they would appear in errors and logs.</source>
            <translation>Lassen Sie sie in SIGHTLINE_HUB weg: Sie erschienen sonst in Fehlern und Protokollen.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Left</source>
            <translation>Links</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>left</source>
            <translation>links</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Left Clavicle</source>
            <translation>Linke Klavikula</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Left drag</source>
            <translation>Links ziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Left drag: pan</source>
            <translation>Linkes Ziehen: verschieben</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Left drag: scroll</source>
            <translation>Linkes Ziehen: blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Left drag: window</source>
            <translation>Linkes Ziehen: fenstern</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>left drag: window, pan, zoom, scroll</source>
            <translation>linkes Ziehen: fenstern, verschieben, zoomen, blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Left drag: zoom</source>
            <translation>Linkes Ziehen: zoomen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Left Hilus Pulmonis</source>
            <translation>Linker Hilus</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Left Lung</source>
            <translation>Linke Lunge</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>left out</source>
            <translation>ausgelassen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Left Scapula</source>
            <translation>Linke Skapula</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Length</source>
            <translation>Länge</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Length in mm</source>
            <translation>Länge in mm</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>Length of the bar in mm</source>
            <translation>Länge des Balkens in mm</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Lengths in px</source>
            <translation>Längen in px</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Let rules answer what they are certain of</source>
            <translation>Regeln beantworten lassen, was sie sicher wissen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Let the language model word it</source>
            <translation>Das Sprachmodell formulieren lassen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>level {0} of {1}: {2} x {3} is too large</source>
            <translation>Stufe {0} von {1}: {2} x {3} ist zu groß</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_table.py" />
            <location filename="../../app/views/models/models_window.py" />
            <source>Licence</source>
            <translation>Lizenz</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Light</source>
            <translation>Hell</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Limits</source>
            <translation>Grenzen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Limits…</source>
            <translation>Grenzen…</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Line</source>
            <translation>Zeile</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Line finished</source>
            <translation>Zeile vervollständigt</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>line {0}, column {1}</source>
            <translation>Zeile {0}, Spalte {1}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Lines lost</source>
            <translation>Zeilen verloren</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Lines of the audit log, the newest first</source>
            <translation>Zeilen des Audit-Protokolls, die neueste zuerst</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Link</source>
            <translation>Verknüpfen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Link scrolling</source>
            <translation>Blättern verknüpfen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Link the active viewport</source>
            <translation>Aktiven Viewport verknüpfen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Link window</source>
            <translation>Fensterung verknüpfen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Link zoom and pan</source>
            <translation>Zoom und Verschieben verknüpfen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/linking.py" />
            <source>Linked by image number: no common position</source>
            <translation>Über die Bildnummer verknüpft: keine gemeinsame Position</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/linking.py" />
            <source>Linked by position</source>
            <translation>Über die Position verknüpft</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/linking.py" />
            <source>Linked by registration</source>
            <translation>Durch Registrierung verknüpft</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/viewport_bar.py" />
            <source>Linked to the other viewports</source>
            <translation>Mit den anderen Viewports verknüpft</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>links: scrolling, window, zoom, viewport, lines</source>
            <translation>Verknüpfung: Blättern, Fensterung, Zoom, Viewport, Linien</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>List models</source>
            <translation>Modelle listen</translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <source>List notes</source>
            <translation>Notizen auflisten</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_data.py" />
            <source>List patients</source>
            <translation>Patienten auflisten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>List the attributes that contain all words</source>
            <translation>Attribute auflisten, die alle Wörter enthalten</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>List the entries that contain all words</source>
            <translation>Die Einträge zeigen, die alle Wörter enthalten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>List the findings whose label, group, description or code contains all words</source>
            <translation>Nur Befunde, deren Name, Gruppe, Beschreibung oder Code alle Wörter enthält</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <source>List the studies and series that contain all words</source>
            <translation>Studien und Serien auflisten, die alle Wörter enthalten</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Liver</source>
            <translation>Leber</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>LLaVA-Med</source>
            <translation>LLaVA-Med</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>Load a DICOM image</source>
            <translation>DICOM-Bild laden</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>Load an ECG</source>
            <translation>EKG laden</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Load it once with stardist itself, or use model classical.</source>
            <translation>Laden Sie es einmal mit stardist selbst, oder nehmen Sie das Modell classical.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>Loaded on {device}</source>
            <translation>Geladen auf {device}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>Loading</source>
            <translation>Lädt</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/published_weights.py" />
            <location filename="../../app/tools/model_process/serving.py" />
            <source>Loading the model</source>
            <translation>Modell wird geladen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Loading the network</source>
            <translation>Das Netz wird geladen</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Loading…</source>
            <translation>Lädt…</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Local</source>
            <translation>Lokal</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Lock or unlock marks</source>
            <translation>Markierungen sperren oder entsperren</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Log</source>
            <translation>Protokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Log lines, unchanged (*.jsonl)</source>
            <translation>Protokollzeilen, unverändert (*.jsonl)</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>Look at an image with the model</source>
            <translation>Bild mit dem Modell ansehen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>look at it before you hand it on: text may be burnt into its pixels</source>
            <translation>sehen Sie sie an, bevor Sie sie weitergeben: vielleicht ist Text in die Pixel eingebrannt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>Look at it, and allow burnt-in text if nobody is named</source>
            <translation>Sehen Sie sie an, und erlauben Sie eingebrannten Text, wenn niemand genannt ist</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>Look at its images one by one</source>
            <translation>Sehen Sie die Bilder einzeln an</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Look at its tools…</source>
            <translation>Werkzeuge ansehen …</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/report.py" />
            <source>Look at the image yourself; other tools may still help.</source>
            <translation>Sehen Sie das Bild selbst an; andere Werkzeuge können trotzdem helfen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/server_tools.py" />
            <source>Look at them under {0}, and allow them.</source>
            <translation>Sehen Sie sie unter {0} an, und erlauben Sie sie.</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>Look at them under {0}.</source>
            <translation>Sehen Sie sie unter {0} an.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Look at these files, or trust their publisher; then add --allow-code.</source>
            <translation>Sehen Sie diese Dateien durch oder vertrauen Sie ihrem Herausgeber; ergänzen Sie dann --allow-code.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <location filename="../../app/tools/chest/medgemma_net.py" />
            <source>Looking</source>
            <translation>Wird angesehen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/chexagent.py" />
            <location filename="../../app/tools/chest/maira.py" />
            <location filename="../../app/tools/chest/medsam2.py" />
            <location filename="../../app/tools/chest/report_net.py" />
            <source>Looking at the image</source>
            <translation>Bild wird angesehen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Looking for a stored key…</source>
            <translation>Ein gespeicherter Schlüssel wird gesucht…</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>Looking for the files</source>
            <translation>Die Dateien werden gesucht</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/generator.py" />
            <source>Looking for the model</source>
            <translation>Modell wird gesucht</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>low</source>
            <translation>gering</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>low (see-through)</source>
            <translation>niedrig (durchsichtig)</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>Lower limit</source>
            <translation>Untere Grenze</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>Lower limit of the window</source>
            <translation>Untere Grenze des Fensters</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/filling.py" />
            <source>Lowest value</source>
            <translation>Niedrigster Wert</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Lung</source>
            <translation>Lunge</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Lung Lesion</source>
            <translation>Lungenläsion</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Lung Opacity</source>
            <translation>Verschattung der Lunge</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/region_claims.py" />
            <source>Made by [{number}] {title}: arguments, model, weights</source>
            <translation>Erzeugt von [{number}] {title}: Argumente, Modell, Gewichte</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <location filename="../../app/views/browser/findings_list.py" />
            <source>Made by hand</source>
            <translation>Von Hand</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/region_claims.py" />
            <source>Made by {title}: arguments, model, weights</source>
            <translation>Erzeugt von {title}: Argumente, Modell, Gewichte</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Made for</source>
            <translation>Gemacht für</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>made on another version of this image; not drawn</source>
            <translation>auf einer anderen Fassung dieses Bildes gemacht; nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Magenta</source>
            <translation>Magenta</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Magnifier (hold its key)</source>
            <translation>Lupe (Taste halten)</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>magnifier, wheel: more or less; true size</source>
            <translation>Lupe, Rad: mehr oder weniger; wahre Größe</translation>
        </message>
        <message>
            <location filename="../../app/errors.py" />
            <source>Make room on it, then try again.</source>
            <translation>Schaffen Sie dort Platz und versuchen Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>Make room on the disk or allow writing; the next edit tries again.</source>
            <translation>Platz auf dem Datenträger schaffen oder das Schreiben erlauben; die nächste Änderung versucht es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>Make room on the disk, or ask for the right to write there</source>
            <translation>Schaffen Sie Platz auf dem Datenträger oder bitten Sie dort um das Schreibrecht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>Make room on the disk, or choose another folder.</source>
            <translation>Schaffen Sie Platz auf dem Datenträger, oder wählen Sie einen anderen Ordner.</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>Make room on the disk, or set SIGHTLINE_NO_INDEX=1.</source>
            <translation>Schaffen Sie Platz auf der Festplatte, oder setzen Sie SIGHTLINE_NO_INDEX=1.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Make space there, or set SIGHTLINE_MODELS to a folder with space.</source>
            <translation>Schaffen Sie dort Platz oder setzen Sie SIGHTLINE_MODELS auf einen Ordner mit Platz.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>Make space, or write the pack elsewhere.</source>
            <translation>Schaffen Sie Platz oder schreiben Sie das Paket an einen anderen Ort.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>male</source>
            <translation>männlich</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/mammography.toml" />
            <source>Mammography: sides facing</source>
            <translation>Mammographie: Seiten einander zugewandt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Manage hanging protocols…</source>
            <translation>Hängeprotokolle verwalten…</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Marital status</source>
            <translation>Familienstand</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Mark a box</source>
            <translation>Rechteck markieren</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>mark a box, a point, one outside</source>
            <translation>Rechteck, Punkt, Punkt außerhalb markieren</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>mark a key image; next, previous one</source>
            <translation>Schlüsselbild markieren; nächstes, voriges</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Mark a place</source>
            <translation>Stelle markieren</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Mark a point</source>
            <translation>Punkt markieren</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Mark a point outside the structure</source>
            <translation>Punkt außerhalb der Struktur markieren</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Mark as key image</source>
            <translation>Als Schlüsselbild markieren</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sr.py" />
            <source>Mark or accept a finding, or choose to write what is only proposed, too.</source>
            <translation>Markieren Sie etwas oder nehmen Sie einen Befund an, oder wählen Sie auch nur Vorgeschlagenes.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/object_entries.py" />
            <source>Mark the key images anew.</source>
            <translation>Markieren Sie die Schlüsselbilder neu.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Markdown (*.md)</source>
            <translation>Markdown (*.md)</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Marked by hand</source>
            <translation>Von Hand markiert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>marked by hand</source>
            <translation>von Hand markiert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/attachments.py" />
            <source>Marked region</source>
            <translation>Markierter Bereich</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <location filename="../../app/views/mark_menu.py" />
            <source>Marks</source>
            <translation>Markierungen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Marks are saved on this computer as you work. The file holds the numbers of studies and images, and no names of patients.</source>
            <translation>Markierungen werden während der Arbeit auf diesem Computer gespeichert. Die Datei enthält die Nummern von Studien und Bildern und keine Namen von Patienten.</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Marks by hand</source>
            <translation>Markierungen von Hand</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Marks, findings and layers</source>
            <translation>Markierungen, Befunde und Ebenen</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Mask</source>
            <translation>Maske</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Masks</source>
            <translation>Masken</translation>
        </message>
        <message>
            <location filename="../../app/imaging/exports.py" />
            <source>masks are written as a segmentation</source>
            <translation>Masken werden als Segmentierung geschrieben</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Mass</source>
            <translation>Raumforderung</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/viewport_bar.py" />
            <source>Maximise  (or double click)</source>
            <translation>Maximieren  (oder Doppelklick)</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Maximise viewport</source>
            <translation>Viewport maximieren</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>May Sightline ask {host} for this patient's record?</source>
            <translation>Darf Sightline {host} nach der Akte dieses Patienten fragen?</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>May stay empty</source>
            <translation>Darf leer bleiben</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>May the assistant use the tools of {name}?</source>
            <translation>Darf der Assistent die Werkzeuge von {name} verwenden?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>MCP servers</source>
            <translation>MCP-Server</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>MCP servers are programs or addresses that offer tools. You see and allow what one offers before it is used, and again whenever that has changed.</source>
            <translation>MCP-Server sind Programme oder Adressen, die Werkzeuge anbieten. Sie sehen und erlauben, was einer anbietet, bevor es verwendet wird, und wieder, sobald es sich geändert hat.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Mean</source>
            <translation>Mittelwert</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Mean value</source>
            <translation>Mittelwert</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure</source>
            <translation>Messen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure a Cobb angle</source>
            <translation>Cobb-Winkel messen</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure a length</source>
            <translation>Länge messen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>measure a length, a polyline, an angle, a Cobb angle</source>
            <translation>Länge, Linienzug, Winkel, Cobb-Winkel messen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure a polyline</source>
            <translation>Linienzug messen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure an angle</source>
            <translation>Winkel messen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <source>Measure by hand with the line tool, if the borders can be seen.</source>
            <translation>Messen Sie von Hand mit dem Längenwerkzeug, wenn die Ränder zu sehen sind.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <source>Measure heart size</source>
            <translation>Herzgröße messen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure the cardiothoracic ratio</source>
            <translation>Herz-Thorax-Quotient messen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>Measure the ECG's rhythm</source>
            <translation>Rhythmus des EKG messen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Measure two diameters</source>
            <translation>Zwei Durchmesser messen</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Measured by hand</source>
            <translation>Von Hand gemessen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Measurements</source>
            <translation>Messungen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Measurements are not saved.</source>
            <translation>Messungen werden nicht gespeichert.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Measurements are not saved. They reappear only if you reopen the images before you quit Sightline.</source>
            <translation>Messungen werden nicht gespeichert. Sie erscheinen nur wieder, wenn Sie die Bilder erneut öffnen, bevor Sie Sightline beenden.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <location filename="../../app/tools/chest/segmentation.py" />
            <location filename="../../app/tools/microscopy/classical.py" />
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Measuring</source>
            <translation>Wird gemessen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>Measuring the ECG</source>
            <translation>Das EKG wird gemessen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/dark_objects.py" />
            <source>Measuring the width of the objects</source>
            <translation>Die Breite der Objekte wird gemessen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>MedGemma</source>
            <translation>MedGemma</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/medgemma_net.py" />
            <source>MedGemma's processor or vocabulary cannot be loaded</source>
            <translation>Prozessor oder Vokabular von MedGemma kann nicht geladen werden</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <location filename="../../resources/tables/dicom.toml" />
            <source>Mediastinum</source>
            <translation>Mediastinum</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/medications.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Medications</source>
            <translation>Medikamente</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>Medium</source>
            <translation>Mittel</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>medium</source>
            <translation>mittel</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Memory</source>
            <translation>Speicher</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>Mend it under {0}.</source>
            <translation>Berichtigen Sie das unter {0}.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>Mend what the checks list, then sign.</source>
            <translation>Beheben, was die Prüfungen nennen, dann unterschreiben.</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>Metadata of a DICOM file</source>
            <translation>Metadaten einer DICOM-Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Method</source>
            <translation>Methode</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/plan.py" />
            <source>Microscopy</source>
            <translation>Mikroskopie</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Middle, or Space + left</source>
            <translation>Mitte, oder Leertaste + links</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>minutes</source>
            <translation>Minuten</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Modality</source>
            <translation>Modalität</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <location filename="../../app/views/models/models_table.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <source>Model</source>
            <translation>Modell</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Model accepted</source>
            <translation>Modell akzeptiert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Model file</source>
            <translation>Modelldatei</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Model installed</source>
            <translation>Modell installiert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Model on this computer</source>
            <translation>Modell auf diesem Computer</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Model removed</source>
            <translation>Modell entfernt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_table.py" />
            <location filename="../../app/views/models/models_window.py" />
            <source>Models</source>
            <translation>Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Models and model packs (*.zip *.tar *.tar.gz *.tgz *.safetensors *.pt *.pth *.bin)</source>
            <translation>Modelle und Modellpakete (*.zip *.tar *.tar.gz *.tgz *.safetensors *.pt *.pth *.bin)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/missing_models.py" />
            <source>Models needed for this are not installed or not accepted: {names}.</source>
            <translation>Dafür benötigte Modelle sind nicht installiert oder nicht akzeptiert: {names}.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <location filename="../../app/views/chat/tool_card.py" />
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Models…</source>
            <translation>Modelle…</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>More panels</source>
            <translation>Weitere Bereiche</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>More tools</source>
            <translation>Weitere Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>More under the arrow</source>
            <translation>Mehr unter dem Pfeil</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>More ways to stop</source>
            <translation>Weitere Arten zu stoppen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Mouse on the image</source>
            <translation>Maus auf dem Bild</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>move it; select a tool's finding first</source>
            <translation>verschieben; Befunde von Werkzeugen zuerst auswählen</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/session.py" />
            <source>Move the file away to begin a new session under this id.</source>
            <translation>Verschieben Sie die Datei, um unter dieser Kennung eine neue Sitzung zu beginnen.</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>move the focus</source>
            <translation>den Fokus bewegen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>MP4 movie</source>
            <translation>MP4-Film</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/mr-head.toml" />
            <source>MR of the head: T1, T2, FLAIR, diffusion</source>
            <translation>MR Kopf: T1, T2, FLAIR, Diffusion</translation>
        </message>
        <message>
            <location filename="../../resources/hanging/mr-prior.toml" />
            <source>MR: current beside prior</source>
            <translation>MR: aktuell neben Voruntersuchung</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Multiple birth</source>
            <translation>Mehrlingsgeburt</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <location filename="../../app/views/browser/findings_list.py" />
            <location filename="../../app/views/mark_menu.py" />
            <location filename="../../app/views/preset_dialog.py" />
            <location filename="../../app/views/record/record_panel.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Name</source>
            <translation>Name</translation>
        </message>
        <message>
            <location filename="../../app/imaging/pixels/regions.py" />
            <source>Name another level</source>
            <translation>Eine andere Ebene nennen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>name as the endpoint knows it</source>
            <translation>Name, wie ihn der Endpunkt kennt</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Name of who verifies the report; empty: it stays unverified</source>
            <translation>Name dessen, der den Bericht verifiziert; leer: er bleibt unverifiziert</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Name one of its folders.</source>
            <translation>Geben Sie einen seiner Ordner an.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Name, or nothing for its first question:</source>
            <translation>Name, oder nichts für die erste Frage:</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Names and descriptions of the tools, and the tools' results</source>
            <translation>Namen und Beschreibungen der Werkzeuge und deren Ergebnisse</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>names no kind of greys</source>
            <translation>nennt keine Art von Grauwerten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Names of environment variables that it gets from Sightline's own.</source>
            <translation>Namen der Umgebungsvariablen, die es von Sightline bekommt.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Names what was rejected: {told}</source>
            <translation>Nennt, was abgelehnt wurde: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Names, ids, birth dates, study dates, institutions and file paths of the open study: they are removed from everything that is sent. Nothing else is removed from what you type</source>
            <translation>Namen, Kennungen, Geburtsdaten, Studiendaten, Einrichtungen und Dateipfade der geöffneten Studie: Sie werden aus allem entfernt, was gesendet wird. Aus dem, was Sie eingeben, wird sonst nichts entfernt</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Names, ids, dates, free texts, private attributes, overlays and UIDs are removed or replaced by the Basic Profile of DICOM PS3.15. Tick what must stay.</source>
            <translation>Namen, Kennungen, Datumsangaben, freie Texte, private Attribute, Overlays und UIDs werden nach dem Basic Profile von DICOM PS3.15 entfernt oder ersetzt. Kreuzen Sie an, was bleiben muss.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Negated by "{told}", though it was accepted</source>
            <translation>Durch „{told}“ verneint, obwohl angenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Never sent</source>
            <translation>Nie gesendet</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>new</source>
            <translation>neu</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>New key</source>
            <translation>Neue Taste</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>New thread</source>
            <translation>Neues Gespräch</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>next and previous frame or image</source>
            <translation>nächstes und voriges Frame oder Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Next channel</source>
            <translation>Nächster Kanal</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Next image or frame</source>
            <translation>Nächstes Bild oder Frame</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Next key image</source>
            <translation>Nächstes Schlüsselbild</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Next report</source>
            <translation>Nächster Bericht</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Next series</source>
            <translation>Nächste Serie</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Next time point</source>
            <translation>Nächster Zeitpunkt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Next viewport</source>
            <translation>Nächster Viewport</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>next, previous series</source>
            <translation>nächste, vorige Serie</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>next, previous viewport; maximise it</source>
            <translation>nächster, voriger Viewport; maximieren</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Next: {text}</source>
            <translation>Als Nächstes: {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>No answer of this conversation mentions it</source>
            <translation>Keine Antwort dieses Gesprächs nennt ihn</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>No arguments.</source>
            <translation>Keine Argumente.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>No attributes</source>
            <translation>Keine Attribute</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <source>no cardiothoracic ratio: {0}</source>
            <translation>kein Herz-Thorax-Quotient: {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/single_cell_cropper.py" />
            <source>no cell is left to cut out: {0}</source>
            <translation>es bleibt keine Zelle zum Ausschneiden: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>no command has gone to another image here</source>
            <translation>hier hat kein Befehl das Bild gewechselt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>no cost</source>
            <translation>keine Kosten</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>No date</source>
            <translation>Ohne Datum</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/dicom_folder.py" />
            <source>no DICOM file is open and there is no DICOM folder</source>
            <translation>keine DICOM-Datei ist offen, und es gibt keinen DICOM-Ordner</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>no DICOM image of {0} is open or in the DICOM folder</source>
            <translation>kein DICOM-Bild von {0} ist offen oder im DICOM-Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/session_page.py" />
            <source>No doctor has recorded a step yet.</source>
            <translation>Noch ist kein Schritt aufgezeichnet.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>No earlier conversations yet</source>
            <translation>Noch keine früheren Gespräche</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>no earlier {0} series of this patient is open</source>
            <translation>keine frühere {0}-Serie dieses Patienten ist geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>No final diagnosis yet.</source>
            <translation>Noch keine abschließende Diagnose.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>No finding has this number: {told}</source>
            <translation>Kein Befund hat diese Zahl: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>No finding matches</source>
            <translation>Kein Befund passt</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>No findings yet</source>
            <translation>Noch keine Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>No further step begins until you go on. What has begun is finished.</source>
            <translation>Kein weiterer Schritt beginnt, bis Sie fortfahren. Was begonnen hat, wird beendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>No hanging protocol is for this study</source>
            <translation>Für diese Studie gibt es kein Hängeprotokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>No host: nothing is sent anywhere before you are asked.</source>
            <translation>Kein Host: Nichts wird irgendwohin gesendet, bevor Sie gefragt werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>No image is shown</source>
            <translation>Es wird kein Bild gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/shown.py" />
            <source>no image is shown</source>
            <translation>es wird kein Bild gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>No image open</source>
            <translation>Kein Bild geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>No images in {name}</source>
            <translation>Keine Bilder in {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>No images in {name} and {count} more</source>
            <translation>Keine Bilder in {name} und {count} weiteren</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>No interval published: taken as it is</source>
            <translation>Kein Intervall veröffentlicht: die Zahl gilt, wie sie ist</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>No key</source>
            <translation>Keine Taste</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>no key</source>
            <translation>keine Taste</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>No key for {host} is known.</source>
            <translation>Für {host} ist kein Schlüssel bekannt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>No language model was asked: no cost</source>
            <translation>Kein Sprachmodell wurde gefragt: keine Kosten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>No layers</source>
            <translation>Keine Overlays</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>no limit</source>
            <translation>keine Grenze</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>No line matches</source>
            <translation>Keine Zeile passt</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>No mark on the shown image is selected</source>
            <translation>Keine Markierung auf dem gezeigten Bild ist ausgewählt</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_marks.py" />
            <source>No mark was taken over</source>
            <translation>Keine Markierung wurde übernommen</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/server_tools.py" />
            <source>no MCP server is set up that analyses documents; nothing was sent</source>
            <translation>Es ist kein MCP-Server eingerichtet, der Dokumente auswertet; nichts wurde gesendet</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/providers.py" />
            <source>no model file is chosen for the local model</source>
            <translation>für das lokale Modell ist keine Modelldatei gewählt</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>no model is called {0}</source>
            <translation>kein Modell heißt {0}</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/probe.py" />
            <source>no model is named</source>
            <translation>es ist kein Modell angegeben</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>No name</source>
            <translation>Ohne Namen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>no open image that the report names lies in its plane</source>
            <translation>kein geöffnetes Bild, das der Bericht nennt, liegt in ihrer Ebene</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>No open record has this entry.</source>
            <translation>Keine geöffnete Akte hat diesen Eintrag.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <source>No patient data in the file</source>
            <translation>Keine Patientendaten in der Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>No patient fits “{text}”.</source>
            <translation>Kein Patient passt zu „{text}“.</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>No patient of the record has the image's patient ID.</source>
            <translation>Kein Patient der Akte hat die Patienten-ID des Bildes.</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_results.py" />
            <source>no patient's record is open</source>
            <translation>keine Patientenakte ist offen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>No pixel of the region has a value</source>
            <translation>Kein Pixel des Bereichs hat einen Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/place_commands.py" />
            <source>no pixel of the region has a value</source>
            <translation>kein Pixel des Bereichs hat einen Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>No pixels are sent.</source>
            <translation>Es werden keine Pixel gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>No presentation fits.</source>
            <translation>Kein Leitsymptom passt.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>no prior{0} of this patient is open</source>
            <translation>keine Voraufnahme{0} dieses Patienten ist geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>no published ratio: moves nothing</source>
            <translation>kein veröffentlichter Quotient: verschiebt nichts</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>No record is open</source>
            <translation>Keine Akte geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>No record is open.</source>
            <translation>Es ist keine Akte geöffnet.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>No report</source>
            <translation>Kein Bericht</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/for_each_image.py" />
            <source>no result from “{0}” on any of the {1} images: {2}</source>
            <translation>kein Ergebnis von „{0}“ auf einem der {1} Bilder: {2}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/region_claims.py" />
            <source>No sentence that is shown cites it</source>
            <translation>Kein gezeigter Satz belegt sich damit</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>No session is kept on this computer</source>
            <translation>Auf diesem Computer ist keine Sitzung gemerkt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>No study is shown.</source>
            <translation>Es wird keine Studie gezeigt.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <location filename="../../app/views/main_window.py" />
            <source>No study open</source>
            <translation>Keine Studie geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>No texts</source>
            <translation>Keine Texte</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>no ultrasound region is calibrated in cm</source>
            <translation>keine Ultraschallregion ist in cm kalibriert</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/providers.py" />
            <source>no {0} name is set for the endpoint</source>
            <translation>für den Endpunkt ist kein Name ({0}) gesetzt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Nodule</source>
            <translation>Rundherd</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>None</source>
            <translation>Keine</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>none</source>
            <translation>keine</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>None (as acquired)</source>
            <translation>Keiner (wie aufgenommen)</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>None for this study</source>
            <translation>Keines für diese Studie</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>none of its labels lies within the image</source>
            <translation>keines der Labels liegt innerhalb des Bildes</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>None of its own: {rule}</source>
            <translation>Keine eigene: {rule}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>none of its voxels has a label</source>
            <translation>keines der Voxel hat ein Label</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>none of the marks can be written: {0}</source>
            <translation>keine der Markierungen kann geschrieben werden: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>None of the words</source>
            <translation>Keines der Wörter</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>None of them allowed</source>
            <translation>Keiner davon erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>None with these words</source>
            <translation>Keines mit diesen Wörtern</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>None: you are asked about every such call.</source>
            <translation>Keine: Sie werden bei jedem solchen Aufruf gefragt.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/hanging.py" />
            <source>not a hanging protocol: {0}</source>
            <translation>kein Hängeprotokoll: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/scan.py" />
            <source>not all files are read: there may be more images</source>
            <translation>nicht alle Dateien sind gelesen: Es kann mehr Bilder geben</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Not all fit: a language model is told the first ones only.</source>
            <translation>Nicht alle passen hinein: Ein Sprachmodell erfährt nur die ersten.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Not all marks could be pasted</source>
            <translation>Nicht alle Markierungen konnten eingefügt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>not all segments are drawn: they need too much memory</source>
            <translation>nicht alle Segmente werden gezeichnet: Sie brauchen zu viel Speicher</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <location filename="../../app/views/chat/consent.py" />
            <source>Not allowed</source>
            <translation>Nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <source>not allowed</source>
            <translation>nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Not allowed in this conversation</source>
            <translation>In diesem Gespräch nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>not allowed yet</source>
            <translation>noch nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/views/layer_loading.py" />
            <source>not an NRRD, NIfTI or MetaImage volume</source>
            <translation>kein NRRD-, NIfTI- oder MetaImage-Volumen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Not answered; nothing was done.</source>
            <translation>Nicht beantwortet; es wurde nichts getan.</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>NOT AS IT WAS WRITTEN: {problem}</source>
            <translation>NICHT WIE GESCHRIEBEN: {problem}</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Not checked yet. Verify checks every line.</source>
            <translation>Noch nicht geprüft. „Prüfen“ prüft jede Zeile.</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Not checked: {reason}</source>
            <translation>Nicht geprüft: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>not counted, it depends on: {finding}</source>
            <translation>nicht gezählt, hängt ab von: {finding}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Not counted: it depends on: {finding}</source>
            <translation>Nicht gezählt, hängt ab von: {finding}</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>not displayable</source>
            <translation>nicht darstellbar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>not drawn on sections through a volume, only on acquired images</source>
            <translation>auf Schnitten durch ein Volumen nicht gezeichnet, nur auf aufgenommenen Bildern</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>not drawn on sections: its masks need too much memory</source>
            <translation>auf Schnitten nicht gezeichnet: Die Masken brauchen zu viel Speicher</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>not drawn: its place on this image is unknown</source>
            <translation>nicht gezeichnet: Der Ort auf diesem Bild ist unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/tool_model.py" />
            <source>not every picture may be shown to {0}, or can be made</source>
            <translation>nicht jedes Bild darf {0} gezeigt werden oder lässt sich erstellen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Not for diagnosis</source>
            <translation>Nicht zur Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>not for diagnosis</source>
            <translation>nicht zur Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>Not for diagnosis. Sightline is not a medical device; AI results may be wrong or incomplete.</source>
            <translation>Nicht zur Diagnose. Sightline ist kein Medizinprodukt; KI-Ergebnisse können falsch oder unvollständig sein.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>Not for diagnosis: published averages are weighed; a physician decides.</source>
            <translation>Nicht für die Diagnose: Gewogen werden veröffentlichte Durchschnitte; es entscheidet ein Arzt.</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Not found</source>
            <translation>Nicht gefunden</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Not in the text: {told}</source>
            <translation>Nicht im Text: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Not in this conversation</source>
            <translation>Nicht in diesem Gespräch</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Not installed</source>
            <translation>Nicht installiert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <location filename="../../resources/tables/window.toml" />
            <source>not installed</source>
            <translation>nicht installiert</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <location filename="../../app/views/settings/fields.py" />
            <source>not known</source>
            <translation>nicht bekannt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/viewport_bar.py" />
            <source>Not linked to the other viewports</source>
            <translation>Nicht mit den anderen Viewports verknüpft</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>not measured: its image cannot be read</source>
            <translation>nicht gemessen: Das Bild ist nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>not needed</source>
            <translation>nicht nötig</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>not needed by most local servers</source>
            <translation>für die meisten lokalen Server nicht nötig</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>not open</source>
            <translation>nicht geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Not run</source>
            <translation>Nicht ausgeführt</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <source>not run</source>
            <translation>nicht ausgeführt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <location filename="../../resources/tables/window.toml" />
            <source>Not the published files</source>
            <translation>Nicht die veröffentlichten Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Not used</source>
            <translation>Nicht verwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Not used, since you set it otherwise: {finding} ({origin}).</source>
            <translation>Nicht verwendet, da Sie es anders gesetzt haben: {finding} ({origin}).</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Not used: {tools}</source>
            <translation>Nicht verwendet: {tools}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sr.py" />
            <source>Not verified by a person</source>
            <translation>Von keinem Menschen verifiziert</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>not-done</source>
            <translation>nicht durchgeführt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Note</source>
            <translation>Anmerkung</translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <location filename="../../app/views/settings/memory_page.py" />
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Notes</source>
            <translation>Notizen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Notes and reports of records. Otherwise they stay on this computer.</source>
            <translation>Notizen und Befunde von Akten. Sonst bleiben sie auf diesem Rechner.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Nothing</source>
            <translation>Nichts</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Nothing is accepted or measured yet</source>
            <translation>Noch nichts angenommen oder gemessen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Nothing leaves this computer.</source>
            <translation>Nichts verlässt diesen Computer.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>Nothing needs to be done</source>
            <translation>Es ist nichts zu tun</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Nothing opened yet</source>
            <translation>Noch nichts geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Nothing to paste</source>
            <translation>Nichts einzufügen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/disagreement.py" />
            <source>Nothing was averaged and nobody voted: look at the image yourself.</source>
            <translation>Nichts wurde gemittelt, und es wurde nicht abgestimmt: Sehen Sie sich das Bild selbst an.</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Nothing was copied: {reason}</source>
            <translation>Nichts wurde kopiert: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>Nothing was pasted: on slice {number}, {reason}</source>
            <translation>Nichts wurde eingefügt, wegen Schicht {number}: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/movie_file.py" />
            <source>nothing was recorded</source>
            <translation>nichts wurde aufgezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Noting it</source>
            <translation>Wird vermerkt</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Now: {length}</source>
            <translation>Jetzt: {length}</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Number: the text says {told}, the finding {true}</source>
            <translation>Zahl: Der Text sagt {told}, der Befund {true}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>numbered objects need a segmentation of their own</source>
            <translation>nummerierte Objekte brauchen eine eigene Segmentierung</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>numbered objects on such a multi-frame image have no form in a segmentation</source>
            <translation>nummerierte Objekte auf einem solchen Mehrbild lassen sich nicht als Segmentierung schreiben</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_values.py" />
            <source>object of an unknown class</source>
            <translation>Objekt einer unbekannten Klasse</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_values.py" />
            <source>object of class {0}</source>
            <translation>Objekt der Klasse {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Oblique slice at {along:.1f} mm</source>
            <translation>Schräge Schicht bei {along:.1f} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/reformat.py" />
            <source>oblique: {0}° from {1}</source>
            <translation>schräg: {0}° von {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/file_readers.py" />
            <source>observations.csv has no column {0}</source>
            <translation>observations.csv hat keine Spalte {0}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>of a table or plot: select its object</source>
            <translation>einer Tabelle oder eines Diagramms: sein Objekt auswählen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>of an unknown kind</source>
            <translation>unbekannter Art</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Of any kind</source>
            <translation>Jeder Art</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Of interest</source>
            <translation>Von Interesse</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>of its graphics only about {0} are drawn</source>
            <translation>von den Grafiken werden nur etwa {0} gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>of its overlay {0} only the first frame is shown</source>
            <translation>vom Overlay {0} wird nur das erste Frame gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>of the film scanner</source>
            <translation>des Filmscanners</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>of {count}</source>
            <translation>von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Offer an answer for the whole conversation</source>
            <translation>Eine Antwort für das ganze Gespräch anbieten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <source>Offline planner</source>
            <translation>Offline-Planer</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Offline planner: fixed rules choose the tools and put their results into words. It is not a language model. Nothing leaves this computer. Click to change.</source>
            <translation>Offline-Planer: Feste Regeln wählen die Werkzeuge und fassen ihre Ergebnisse in Worte. Er ist kein Sprachmodell. Nichts verlässt diesen Computer. Zum Ändern klicken.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>on another image</source>
            <translation>auf einem anderen Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>on frame {number}</source>
            <translation>auf Frame {number}</translation>
        </message>
        <message>
            <location filename="../../app/tools/sandbox/sandbox.py" />
            <source>On Linux, install bubblewrap (package bubblewrap) or use a kernel with Landlock (5.13 and later); then start Sightline again. Without a sandbox that holds, the tool stays off.</source>
            <translation>Unter Linux bubblewrap installieren (Paket bubblewrap) oder einen Kernel mit Landlock (ab 5.13) verwenden und Sightline neu starten. Ohne eine Sandbox, die hält, bleibt das Werkzeug ausgeschaltet.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>On record</source>
            <translation>Aufzeichnung</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>on the image: panels; full screen; image texts</source>
            <translation>auf dem Bild: Bereiche; Vollbild; Bildtexte</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>on the slide, not in a patient</source>
            <translation>auf dem Objektträger, nicht im Patienten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>on this computer: no cost</source>
            <translation>auf diesem Computer: keine Kosten</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>on-hold</source>
            <translation>pausiert</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>One large, three small</source>
            <translation>Ein großer, drei kleine</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>One large, two small</source>
            <translation>Ein großer, zwei kleine</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>one of its files is not read: {0}</source>
            <translation>eine der Dateien darin wird nicht gelesen: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>one of its grey windows is damaged; the image's own is shown</source>
            <translation>eines der Graufenster ist beschädigt; das des Bildes wird gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>one of its lines has no meaning</source>
            <translation>eine der Zeilen hat keine Bedeutung</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>One of the words</source>
            <translation>Eines der Wörter</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>One pixel of this screen is {size} mm wide.</source>
            <translation>Ein Pixel dieses Bildschirms ist {size} mm breit.</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>One pixel would be {size} mm wide: no screen has such pixels.</source>
            <translation>Ein Pixel wäre {size} mm breit: Solche Pixel hat kein Bildschirm.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/whole_slide.py" />
            <source>one tile of {0}</source>
            <translation>eine Kachel von {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>One viewport</source>
            <translation>Ein Viewport</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>only a CT or MR can be compared by this</source>
            <translation>nur ein CT oder MR lässt sich hiermit vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>Only a number agrees that others may have, too; the name does not.</source>
            <translation>Nur eine Nummer stimmt überein, die auch andere haben können; der Name nicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Only for models that can look at pictures.</source>
            <translation>Nur für Modelle, die Bilder ansehen können.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>only https addresses are fetched</source>
            <translation>es werden nur https-Adressen abgerufen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Only on the shown image</source>
            <translation>Nur auf dem gezeigten Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>only partly understood: its blending of images is not applied</source>
            <translation>nur teilweise verstanden: Das Überblenden von Bildern wird nicht angewendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>only partly understood: {0}</source>
            <translation>nur teilweise verstanden: {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>only partly understood: {0} is not applied</source>
            <translation>nur teilweise verstanden: {0} wird nicht angewendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>only the first {0} content items are shown</source>
            <translation>nur die ersten {0} Inhaltselemente werden gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>only the first {0} marks are taken</source>
            <translation>nur die ersten {0} Markierungen werden übernommen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>only the first {0} shapes are drawn</source>
            <translation>nur die ersten {0} Formen werden gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Only the series that is shown</source>
            <translation>Nur die gezeigte Serie</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/text_headers.py" />
            <source>only uncompressed voxels can be counted from the file's end</source>
            <translation>nur unkomprimierte Voxel können vom Ende der Datei aus gezählt werden</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/filling.py" />
            <source>Only within the region</source>
            <translation>Nur in der Region</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Onset</source>
            <translation>Beginn</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>onto a viewport, or its edge for a new one</source>
            <translation>auf einen Viewport, oder an dessen Rand für einen neuen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Opacity</source>
            <translation>Deckkraft</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Opacity of filled layers</source>
            <translation>Deckkraft gefüllter Overlays</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Open</source>
            <translation>Öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/layer_loading.py" />
            <source>Open a DICOM segmentation as you would an image</source>
            <translation>Öffnen Sie eine DICOM-Segmentierung wie ein Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Open a file, and name it in the question</source>
            <translation>Eine Datei öffnen und in der Frage nennen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Open a folder of images</source>
            <translation>Bilderordner öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Open a folder of patient records</source>
            <translation>Einen Ordner mit Patientenakten öffnen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_results.py" />
            <source>Open a folder or file of FHIR bundles as the record (on the command line: --record PATH), then ask again.</source>
            <translation>Öffnen Sie einen Ordner oder eine Datei mit FHIR-Bundles als Akte (auf der Befehlszeile: --record PFAD), und fragen Sie noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/grounding.py" />
            <location filename="../../app/tools/chest/image_suitability.py" />
            <location filename="../../app/tools/chest/segmenter.py" />
            <source>Open a frontal chest radiograph (PA or AP) and ask again.</source>
            <translation>Öffnen Sie eine frontale Thoraxaufnahme (PA oder AP) und fragen Sie erneut.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/opened_paths.py" />
            <source>Open a part of it</source>
            <translation>Öffnen Sie einen Teil davon</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Open a patient's record (FHIR) from the File menu, or drop it on the window.</source>
            <translation>Öffnen Sie die Akte eines Patienten (FHIR) im Menü Datei, oder ziehen Sie sie in das Fenster.</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Open a study to begin</source>
            <translation>Öffnen Sie eine Studie</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Open a study: its report is drafted from what you accept and measure.</source>
            <translation>Eine Studie öffnen: Ihr Bericht wird aus dem entworfen, was Sie annehmen und messen.</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Open again</source>
            <translation>Wieder öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <location filename="../../app/views/viewer_commands/shown.py" />
            <source>Open an image first.</source>
            <translation>Öffnen Sie zuerst ein Bild.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Open an image, then ask</source>
            <translation>Bild öffnen, dann fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Open files</source>
            <translation>Dateien öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <source>Open files or drop them on the window.</source>
            <translation>Öffnen Sie Dateien oder ziehen Sie sie auf das Fenster.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>open files, a folder, a patient's record</source>
            <translation>Dateien, einen Ordner, eine Patientenakte öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Open files…</source>
            <translation>Dateien öffnen…</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Open folder…</source>
            <translation>Ordner öffnen…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <location filename="../../app/imaging/guards.py" />
            <source>Open it again</source>
            <translation>Öffnen Sie es erneut</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>Open it by itself to look at it</source>
            <translation>Öffnen Sie es für sich, um es anzusehen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Open its conversation</source>
            <translation>Das Gespräch öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Open its files again, and the link shows it.</source>
            <translation>Öffnen Sie seine Dateien wieder, dann zeigt ihn der Link.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Open its files, and the record shows it from its imaging entry.</source>
            <translation>Öffnen Sie ihre Dateien; dann zeigt die Akte sie aus dem Eintrag der Bildgebung.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_state_analyzer.py" />
            <source>Open more images of the same kind, or segment them so that more cells are found; a few cells are better looked at and measured one by one.</source>
            <translation>Öffnen Sie mehr Bilder derselben Art, oder segmentieren Sie so, dass mehr Zellen gefunden werden; wenige Zellen betrachtet und misst man besser einzeln.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Open patient record</source>
            <translation>Patientenakte öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Open patient record…</source>
            <translation>Patientenakte öffnen…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thumbnails.py" />
            <source>Open picture {lines} beside the image</source>
            <translation>Bild {lines} neben dem Bild öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Open recent</source>
            <translation>Zuletzt geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>Open that folder</source>
            <translation>Öffnen Sie jenen Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Open the demo</source>
            <translation>Demo öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Open the demo study</source>
            <translation>Demo-Studie öffnen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>Open the file directly</source>
            <translation>Öffnen Sie die Datei direkt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>Open the file that it names</source>
            <translation>Öffnen Sie die Datei, die es nennt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>Open the folder to see its images</source>
            <translation>Öffnen Sie den Ordner, um seine Bilder zu sehen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>Open the images directly</source>
            <translation>Öffnen Sie die Bilder direkt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>Open the images on which they were made, or save a secondary capture.</source>
            <translation>Öffnen Sie die Bilder, auf denen sie gemacht wurden, oder speichern Sie ein Secondary Capture.</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Open the last session</source>
            <translation>Letzte Sitzung öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Open the model {first}</source>
            <translation>Modell {first} öffnen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Open the models</source>
            <translation>Modelle öffnen</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>Open the prior as well.</source>
            <translation>Öffnen Sie auch die Voraufnahme.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>Open the series again</source>
            <translation>Öffnen Sie die Serie erneut</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Open the study in the window and ask.</source>
            <translation>Öffnen Sie die Studie im Fenster und fragen Sie dort.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/compare.py" />
            <source>Open two frontal chest radiographs of one patient and name the current and the prior.</source>
            <translation>Öffnen Sie zwei frontale Thoraxaufnahmen eines Patienten und nennen Sie die aktuelle und die frühere.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/language_models.toml" />
            <source>OpenAI itself, or a server with the same API: vLLM, Ollama, LM Studio, llama.cpp and others, here or in your network.</source>
            <translation>OpenAI selbst oder ein Server mit derselben API: vLLM, Ollama, LM Studio, llama.cpp und andere, hier oder in Ihrem Netz.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>OpenAI-compatible endpoint</source>
            <translation>OpenAI-kompatibler Endpunkt</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/file_opening.py" />
            <source>Opening %n items…</source>
            <extracomment>Singular: Opening %n item…</extracomment>
            <translation>
                <numerusform>%n Eintrag wird geöffnet…</numerusform>
                <numerusform>%n Einträge werden geöffnet…</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>Opening stopped</source>
            <translation>Öffnen gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>Opening the record…</source>
            <translation>Die Akte wird geöffnet…</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>Opening {name}…</source>
            <translation>{name} wird geöffnet…</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <source>Opening: {done:,} of {total:,} files</source>
            <translation>Öffnen: {done} von {total} Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Opens the privacy settings.</source>
            <translation>Öffnet die Datenschutzeinstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/whole_slide.py" />
            <source>optical path {0}</source>
            <translation>optischer Pfad {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Orange</source>
            <translation>Orange</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Organisation of who verifies</source>
            <translation>Einrichtung dessen, der verifiziert</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>other</source>
            <translation>divers</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Other entries</source>
            <translation>Weitere Einträge</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Other observations</source>
            <translation>Weitere Beobachtungen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Other…</source>
            <translation>Andere…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>out</source>
            <translation>heraus</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>out of line</source>
            <translation>nicht fluchtend</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Outcome</source>
            <translation>Ergebnis</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/finding_links.py" />
            <source>Outdated: an outline was changed by hand ({labels}). Figures from it no longer hold; the findings list has those of now.</source>
            <translation>Veraltet: Ein Umriss wurde von Hand geändert ({labels}). Zahlen daraus gelten nicht mehr; die Befundliste hat die jetzigen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/segmentation.py" />
            <source>Outline chest organs</source>
            <translation>Thoraxorgane umranden</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>Outline of what you marked</source>
            <translation>Umriss des Markierten</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/bright_objects.py" />
            <location filename="../../app/tools/microscopy/dark_objects.py" />
            <source>Outlining</source>
            <translation>Umrisse werden gezogen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/medsam2.py" />
            <source>Outlining what is marked</source>
            <translation>Markiertes wird umrandet</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Overlay labels on the image</source>
            <translation>Labels über das Bild legen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Overlay labels on the image…</source>
            <translation>Labels über das Bild legen…</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <source>Overlay on the image</source>
            <translation>Über das Bild legen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Page Up, Page Down</source>
            <translation>Bild auf, Bild ab</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Page {number} / {count}</source>
            <translation>Seite {number} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Pages of the settings</source>
            <translation>Seiten der Einstellungen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Pan</source>
            <translation>Schieben</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>pan the image</source>
            <translation>Bild verschieben</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>pan with the left mouse button</source>
            <translation>mit der linken Maustaste verschieben</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>Panels</source>
            <translation>Bereiche</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>Panels that share a place</source>
            <translation>Bereiche am selben Platz</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Part {number}</source>
            <translation>Teil {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>partly applied</source>
            <translation>teilweise angewendet</translation>
        </message>
        <message>
            <location filename="../../app/tools/images.py" />
            <source>parts of images cannot be read here</source>
            <translation>Teile von Bildern können hier nicht gelesen werden</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Parts of the differential</source>
            <translation>Teile der Differentialdiagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>Paste</source>
            <translation>Einfügen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Paste marks</source>
            <translation>Markierungen einfügen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>paste marks on several slices, hide or show them</source>
            <translation>Markierungen auf mehreren Schichten einfügen, aus- oder einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>Paste on several slices</source>
            <translation>Auf mehreren Schichten einfügen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Paste on several slices…</source>
            <translation>Auf mehreren Schichten einfügen…</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Paths may name patients. Switched off, they are forgotten.</source>
            <translation>Pfade können Patienten nennen. Ausgeschaltet werden sie vergessen.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Patient</source>
            <translation>Patient</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>patient</source>
            <translation>Patient</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/plan.py" />
            <source>Patient record</source>
            <translation>Patientenakte</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Patient records</source>
            <translation>Patientenakten</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Patient's record asked for</source>
            <translation>Patientenakte angefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Patients whose records are open</source>
            <translation>Patienten, deren Akten geöffnet sind</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>PDF (*.pdf)</source>
            <translation>PDF (*.pdf)</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>PDF in DICOM (*.dcm)</source>
            <translation>PDF in DICOM (*.dcm)</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Permission asked</source>
            <translation>Genehmigung erfragt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Permission withdrawn</source>
            <translation>Genehmigung zurückgezogen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>PET</source>
            <translation>PET</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>PET 20 step</source>
            <translation>PET 20 Stufen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>phase {0} of {1} (by {2})</source>
            <translation>Phase {0} von {1} (nach {2})</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/pane.py" />
            <location filename="../../app/views/chat/consent.py" />
            <source>Picture</source>
            <translation>Bild</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>picture: export, copy, print; export DICOM</source>
            <translation>Bild: ausgeben, kopieren, drucken; DICOM ausgeben</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <location filename="../../app/views/settings/model_page.py" />
            <source>Pictures</source>
            <translation>Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>pictures</source>
            <translation>Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Pictures are sent only after you are asked again.</source>
            <translation>Bilder werden erst gesendet, nachdem Sie erneut gefragt wurden.</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>Pictures are sent only if you allow that in a second question.</source>
            <translation>Bilder werden nur gesendet, wenn Sie es in einer zweiten Frage erlauben.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Pictures may be sent to {host}</source>
            <translation>Bilder dürfen an {host} gesendet werden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Pictures of what the viewer shows: only to models that are set to receive pictures, after you have seen them and agreed, and once more where they may identify the patient</source>
            <translation>Bilder dessen, was der Betrachter zeigt: nur an Modelle, die Bilder erhalten sollen, nachdem Sie sie gesehen und zugestimmt haben, und ein weiteres Mal, wo sie den Patienten erkennen lassen könnten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Pin the conversation</source>
            <translation>Gespräch anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Pin this answer</source>
            <translation>Diese Antwort anheften</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>pinned</source>
            <translation>angeheftet</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Pixel spacing unknown: lengths in px</source>
            <translation>Pixelabstand unbekannt: Längen in px</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Pixels</source>
            <translation>Pixel</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>Pixels (log scale)</source>
            <translation>Pixel (logarithmisch)</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Pixels whose centre lies inside; on the outline itself, those at its left and top. SD is that of a sample (n - 1).</source>
            <translation>Pixel, deren Mitte im Bereich liegt; auf dem Umriss selbst die am linken und oberen Rand. SD ist die einer Stichprobe (n - 1).</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>Place</source>
            <translation>Ort</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Plan</source>
            <translation>Plan</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Plan first</source>
            <translation>Erst der Plan</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Plan · {done} of {count} done</source>
            <translation>Plan · {done} von {count} fertig</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Plan · {done} of {count} done · goal reached</source>
            <translation>Plan · {done} von {count} fertig · Ziel erreicht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Plan, {text}</source>
            <translation>Plan, {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Plane</source>
            <translation>Ebene</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>planned</source>
            <translation>geplant</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Planned by rules</source>
            <translation>Von Regeln geplant</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>planned by rules</source>
            <translation>von Regeln geplant</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Planned by the language model</source>
            <translation>Vom Sprachmodell geplant</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>planned by the language model</source>
            <translation>vom Sprachmodell geplant</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Play a cine</source>
            <translation>Cine abspielen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Play cine</source>
            <translation>Cine abspielen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Play cine in all viewports</source>
            <translation>Cine in allen Viewports abspielen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>Play it in a video player, or ask for an export as single images without compression</source>
            <translation>Spielen Sie es in einem Videoprogramm ab oder bitten Sie um einen Export als Einzelbilder ohne Kompression</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>play or pause a cine, those of all viewports; faster, slower</source>
            <translation>Cine abspielen, anhalten; in allen Viewports; schneller, langsamer</translation>
        </message>
        <message>
            <location filename="../../app/errors.py" />
            <source>Please try again, or report it; the log has the details.</source>
            <translation>Bitte versuchen Sie es erneut oder melden Sie es; Einzelheiten stehen in der Protokolldatei.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Pleural_Thickening</source>
            <translation>Pleuraverdickung</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Plot {number} / {count}</source>
            <translation>Kurve {number} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Plot: {title}</source>
            <translation>Diagramm: {title}</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_files.py" />
            <source>plots cannot be written as files, since matplotlib is not installed</source>
            <translation>Diagramme lassen sich nicht als Dateien schreiben, da matplotlib nicht installiert ist</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Pneumonia</source>
            <translation>Pneumonie</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Pneumothorax</source>
            <translation>Pneumothorax</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>PNG (exact)</source>
            <translation>PNG (exakt)</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Point</source>
            <translation>Punkt</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Point outside</source>
            <translation>Punkt außerhalb</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Points</source>
            <translation>Punkte</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Points that are placed or dragged go to the strongest edge nearby; Alt suspends it</source>
            <translation>Punkte, die Sie setzen oder ziehen, springen auf die stärkste Kante in der Nähe; Alt setzt das aus</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Polygon</source>
            <translation>Polygon</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Polyline</source>
            <translation>Linienzug</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Population: {population}</source>
            <translation>Population: {population}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>position along the normal</source>
            <translation>Position entlang der Normalen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/scrolling.py" />
            <source>Position in the series</source>
            <translation>Position in der Serie</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Preference</source>
            <translation>Vorliebe</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>preliminary</source>
            <translation>vorläufig</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_preprocessor.py" />
            <source>Prepare at most {0} together.</source>
            <translation>Bereiten Sie höchstens {0} zusammen auf.</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_preprocessor.py" />
            <source>Prepare fewer at a time.</source>
            <translation>Bereiten Sie weniger auf einmal auf.</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_registration.py" />
            <source>Preparing the volumes</source>
            <translation>Die Volumen werden vorbereitet</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/plane_switch.py" />
            <source>Preparing {plane} sections: {done} of {total} images</source>
            <translation>Schnitte werden vorbereitet ({plane}): {done} von {total} Bildern</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/plane_switch.py" />
            <source>Preparing {plane} sections…</source>
            <translation>Schnitte werden vorbereitet ({plane})…</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/lists.py" />
            <source>Present</source>
            <translation>Vorhanden</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>present {percent}</source>
            <translation>vorhanden {percent}</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Presentation</source>
            <translation>Präsentation</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Presentation state</source>
            <translation>Präsentationszustand</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>presentation state</source>
            <translation>Präsentationszustand</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Presentation states: window, visible part, turns and marks of each pane</source>
            <translation>Darstellungszustände: Fenster, sichtbarer Teil, Drehung und Markierungen jedes Feldes</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Presentation {title}: does not apply to this frame</source>
            <translation>Präsentation {title}: gilt nicht für dieses Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Presentation: {title}</source>
            <translation>Präsentation: {title}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>Presentations</source>
            <translation>Leitsymptome</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Preset {number}</source>
            <translation>Vorgabe {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Presets: name, centre and width</source>
            <translation>Vorgaben: Name, Zentrum und Breite</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>press the button that has the focus, or end a line</source>
            <translation>den Knopf mit dem Fokus drücken oder eine Linie beenden</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Preview…</source>
            <translation>Vorschau …</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Previous channel</source>
            <translation>Voriger Kanal</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Previous image or frame</source>
            <translation>Voriges Bild oder Frame</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Previous key image</source>
            <translation>Voriges Schlüsselbild</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Previous report</source>
            <translation>Vorheriger Bericht</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Previous series</source>
            <translation>Vorige Serie</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Previous time point</source>
            <translation>Voriger Zeitpunkt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Previous viewport</source>
            <translation>Vorheriger Viewport</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>previous, next time point</source>
            <translation>voriger, nächster Zeitpunkt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Price</source>
            <translation>Preis</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>price not known</source>
            <translation>Preis nicht bekannt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Price of answers</source>
            <translation>Preis der Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Price of questions</source>
            <translation>Preis der Fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/printing.py" />
            <source>Print preview</source>
            <translation>Druckvorschau</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Print the image</source>
            <translation>Bild drucken</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Print…</source>
            <translation>Drucken …</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Privacy</source>
            <translation>Datenschutz</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/step_chart.py" />
            <source>Probabilities step by step</source>
            <translation>Wahrscheinlichkeiten Schritt für Schritt</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Probability before any finding, in per cent</source>
            <translation>Wahrscheinlichkeit vor jedem Befund, in Prozent</translation>
        </message>
        <message>
            <location filename="../../app/workspace/drawing.py" />
            <source>Probe</source>
            <translation>Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Probe a value</source>
            <translation>Wert abfragen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>probe a value, draw an arrow, write a text</source>
            <translation>Wert ablesen, Pfeil zeichnen, Text schreiben</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Problems</source>
            <translation>Diagnosen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>Problems in the record</source>
            <translation>Probleme in der Akte</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Procedures</source>
            <translation>Prozeduren</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>program code</source>
            <translation>Programmcode</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Program code came with its weights. You allowed it to run.</source>
            <translation>Mit den Gewichten kam Programmcode. Sie haben seine Ausführung erlaubt.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Program code of {title}</source>
            <translation>Programmcode von {title}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/widgets.py" />
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Progress</source>
            <translation>Fortschritt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Prompt</source>
            <translation>Prompt</translation>
        </message>
        <message>
            <location filename="../../app/wiring/program.py" />
            <source>Prompts there: {0}.</source>
            <translation>Vorhandene Prompts: {0}.</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>proposed</source>
            <translation>vorgeschlagen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>proposed by a tool, not reviewed by a person</source>
            <translation>von einem Werkzeug vorgeschlagen, von keinem Menschen geprüft</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Proposed by AI, not for diagnosis</source>
            <translation>Von KI vorgeschlagen, nicht zur Diagnose</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Provider</source>
            <translation>Anbieter</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>Put both files into one folder</source>
            <translation>Legen Sie beide Dateien in einen Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>put in by a rule</source>
            <translation>von einer Regel eingefügt</translation>
        </message>
        <message>
            <location filename="../../app/audit/log.py" />
            <source>Put the file audit.key back from a backup. Without it a new log must be started: move the folder of the audit log and that file away.</source>
            <translation>Legen Sie die Datei audit.key aus einer Sicherung zurück. Ohne sie muss ein neues Protokoll begonnen werden: Verschieben Sie den Ordner des Audit-Protokolls und diese Datei.</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Put the report's marks on the images, where they can be changed</source>
            <translation>Die Markierungen des Berichts auf die Bilder bringen, wo sie geändert werden können</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>Putting the record together</source>
            <translation>Die Akte wird zusammengestellt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Question</source>
            <translation>Frage</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Question answered</source>
            <translation>Frage beantwortet</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Question asked</source>
            <translation>Frage gestellt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Question failed</source>
            <translation>Frage fehlgeschlagen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Question stopped</source>
            <translation>Frage gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Questions and answers of the language model together.</source>
            <translation>Fragen und Antworten des Sprachmodells zusammen.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Questions and tool results, without identifying attributes, will be sent to {place}. You are asked once in each conversation before anything is sent.</source>
            <translation>Fragen und Werkzeugergebnisse werden ohne identifizierende Attribute an {place} gesendet. Sie werden in jedem Gespräch einmal gefragt, bevor etwas gesendet wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Questions go to {model} at {host}. You are asked in each conversation before anything is sent.</source>
            <translation>Fragen gehen an {model} bei {host}. Sie werden in jedem Gespräch gefragt, bevor etwas gesendet wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Queue the question</source>
            <translation>Frage einreihen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Queued</source>
            <translation>Eingereiht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Queued questions</source>
            <translation>Eingereihte Fragen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Queued until the question about the other study is answered.</source>
            <translation>Wartet, bis die Frage zur anderen Untersuchung beantwortet ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Quit</source>
            <translation>Beenden</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Quit and discard {measurements}?</source>
            <translation>Beenden und verwerfen: {measurements}?</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>quit, settings</source>
            <translation>beenden, Einstellungen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Race</source>
            <translation>Herkunft (race)</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>Radiology reports</source>
            <translation>Radiologische Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>Rainbow</source>
            <translation>Regenbogen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Ratio: the text says “{told}”, it is {true}</source>
            <translation>Quotient: Der Text sagt „{told}“, er ist {true}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>raw data of a scanner, whose content no standard describes</source>
            <translation>Rohdaten eines Geräts, deren Inhalt kein Standard beschreibt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Reaching a limit ends the run with a summary of what was found so far; nothing that was found is lost.</source>
            <translation>Wird eine Grenze erreicht, endet der Lauf mit einer Zusammenfassung dessen, was bis dahin gefunden wurde; nichts davon geht verloren.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Reaction</source>
            <translation>Reaktion</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>Read and accept them: `{0} models accept {1}`.</source>
            <translation>Lesen und akzeptieren Sie sie: `{0} models accept {1}`.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Read every file and compare it with the published one</source>
            <translation>Jede Datei lesen und mit der veröffentlichten vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>Read the program's files first. To allow them, install the model with `{0} models install PATH --allow-code`, or say yes in the model panel.</source>
            <translation>Lesen Sie zuerst die Dateien des Programms. Um sie zu erlauben, installieren Sie das Modell mit `{0} models install PATH --allow-code` oder sagen Sie im Modellfenster Ja.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Read them (`{0} show {1}`), then add --accept-terms.</source>
            <translation>Lesen Sie sie (`{0} show {1}`), dann ergänzen Sie --accept-terms.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Reading</source>
            <translation>Wird gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_states.py" />
            <source>Reading cells</source>
            <translation>Zellen werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/analysis_data.py" />
            <source>Reading images</source>
            <translation>Bilder werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/process.py" />
            <source>reading it ended the reader, so it is damaged</source>
            <translation>das Lesen hat den Leser beendet, sie ist also beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>Reading the attributes…</source>
            <translation>Attribute werden gelesen…</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Reading the audit log</source>
            <translation>Das Audit-Protokoll wird gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/roentgen.py" />
            <source>Reading the description</source>
            <translation>Beschreibung wird gelesen</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>Reading the files</source>
            <translation>Die Dateien werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <location filename="../../app/tools/chest/classifier.py" />
            <location filename="../../app/tools/chest/grounding.py" />
            <location filename="../../app/tools/chest/llava_med.py" />
            <location filename="../../app/tools/chest/medsam2_segment.py" />
            <location filename="../../app/tools/chest/report.py" />
            <location filename="../../app/tools/chest/segmentation.py" />
            <location filename="../../app/tools/general/image_visualizer.py" />
            <location filename="../../app/tools/microscopy/segmentation.py" />
            <source>Reading the image</source>
            <translation>Bild wird gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/compare.py" />
            <location filename="../../app/tools/chest/expert.py" />
            <location filename="../../app/tools/chest/medgemma.py" />
            <location filename="../../app/tools/microscopy/image_preprocessor.py" />
            <source>Reading the images</source>
            <translation>Bilder werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Reading the models folder</source>
            <translation>Der Modellordner wird gelesen</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>Reading the pages</source>
            <translation>Die Seiten werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <location filename="../../app/tools/chest/medgemma_net.py" />
            <source>Reading the question</source>
            <translation>Frage wird gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Reading the report…</source>
            <translation>Der Bericht wird gelesen…</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>Reading the series</source>
            <translation>Die Serien werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/dicom_folder.py" />
            <source>Reading {0} DICOM headers</source>
            <translation>{0} DICOM-Köpfe werden gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <location filename="../../app/views/chat/consent.py" />
            <source>Reading…</source>
            <translation>Wird gelesen…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Reads</source>
            <translation>Liest</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>reads</source>
            <translation>liest</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>Ready</source>
            <translation>Bereit</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Reason</source>
            <translation>Grund</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Reason for not allowing it</source>
            <translation>Grund für die Ablehnung</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Reason for not allowing it (optional)</source>
            <translation>Grund für die Ablehnung (freiwillig)</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Reason: {text}</source>
            <translation>Begründung: {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Reasons against it</source>
            <translation>Gründe dagegen</translation>
        </message>
        <message>
            <location filename="../../app/views/window_docks.py" />
            <source>Record</source>
            <translation>Akte</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/markdown.py" />
            <source>record</source>
            <translation>Akte</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Records are read only; the host is asked after your yes.</source>
            <translation>Akten werden nur gelesen; der Server wird erst nach Ihrem Ja gefragt.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>recurrence</source>
            <translation>Rezidiv</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Red</source>
            <translation>Rot</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Redo</source>
            <translation>Wiederholen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/registration.py" />
            <source>Redrawing the prior image</source>
            <translation>Voraufnahme wird neu gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Reference lines</source>
            <translation>Referenzlinien</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Reference range</source>
            <translation>Referenzbereich</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Reformat the series: axial, coronal, sagittal</source>
            <translation>Serie reformatieren: axial, koronar, sagittal</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Refresh</source>
            <translation>Aktualisieren</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>refused</source>
            <translation>abgelehnt</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/settings/tools_page.py" />
            <source>refused in %n conversations</source>
            <extracomment>Singular: refused in one conversation</extracomment>
            <translation>
                <numerusform>in einem Gespräch abgelehnt</numerusform>
                <numerusform>in %n Gesprächen abgelehnt</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Refused: “{said}” ({reason})</source>
            <translation>Nicht übernommen: „{said}“ ({reason})</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>refuted</source>
            <translation>widerlegt</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Region</source>
            <translation>Region</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>region</source>
            <translation>Region</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/structures.py" />
            <source>region without a name in the file</source>
            <translation>Region ohne Namen in der Datei</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>region: ellipse, polygon, freehand</source>
            <translation>Bereich: Ellipse, Vieleck, freihändig</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/attachments.py" />
            <source>Region: x {x0:.0f} to {x1:.0f}, y {y0:.0f} to {y1:.0f} px of {name}</source>
            <translation>Bereich: x {x0:.0f} bis {x1:.0f}, y {y0:.0f} bis {y1:.0f} px von {name}</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Regions</source>
            <translation>Regionen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>registered</source>
            <translation>angemeldet</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_registration.py" />
            <source>Registering the volumes</source>
            <translation>Die Volumen werden registriert</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Reject all of this result</source>
            <translation>Alle dieses Ergebnisses ablehnen</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Reject finding</source>
            <translation>Befund ablehnen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Reject {names}?</source>
            <translation>{names} ablehnen?</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>rejected</source>
            <translation>abgelehnt</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Rejected by {name} on {time}</source>
            <translation>Abgelehnt von {name} am {time}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>relapse</source>
            <translation>Rückfall</translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <source>Remember a note</source>
            <translation>Notiz merken</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Remember on this computer what I open</source>
            <translation>Auf diesem Computer merken, was ich öffne</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>remission</source>
            <translation>Remission</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <location filename="../../app/views/preset_dialog.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Remove</source>
            <translation>Entfernen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>remove the selected finding</source>
            <translation>ausgewählten Befund entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Remove the struck</source>
            <translation>Gestrichene entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Remove this layer</source>
            <translation>Dieses Overlay entfernen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Remove this question from the queue</source>
            <translation>Diese Frage aus der Warteschlange nehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Remove {title}?</source>
            <translation>{title} entfernen?</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Remove…</source>
            <translation>Entfernen…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Removing</source>
            <translation>Wird entfernt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>rename it in the list</source>
            <translation>in der Liste umbenennen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Rename mark</source>
            <translation>Markierung umbenennen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Rename mark…</source>
            <translation>Markierung umbenennen…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Rename the conversation</source>
            <translation>Gespräch umbenennen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Rename…</source>
            <translation>Umbenennen…</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Replace</source>
            <translation>Ersetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Replace files</source>
            <translation>Dateien ersetzen</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/arguments.py" />
            <source>replaces the file that is there</source>
            <translation>ersetzt die vorhandene Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <location filename="../../app/views/window_docks.py" />
            <source>Report</source>
            <translation>Bericht</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>report</source>
            <translation>Bericht</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Report style</source>
            <translation>Befundstil</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Reports</source>
            <translation>Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Report…</source>
            <translation>Bericht…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>requests</source>
            <translation>Anfragen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>resampled from another pixel grid (nearest neighbour)</source>
            <translation>aus einem anderen Pixelraster umgerechnet (nächster Nachbar)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>resampled to a slice distance of {0} mm: the acquired one varies between {1} and {2} mm</source>
            <translation>auf einen Schichtabstand von {0} mm umgerechnet: Der aufgenommene schwankt zwischen {1} und {2} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>resampled to set slices straight that were {0}</source>
            <translation>umgerechnet, um Schichten gerade zu setzen, die verschoben waren ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Reset</source>
            <translation>Zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Reset all</source>
            <translation>Alle zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Reset view</source>
            <translation>Ansicht zurücksetzen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>resolved</source>
            <translation>abgeklungen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Restore defaults</source>
            <translation>Standardwerte</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Restore original</source>
            <translation>Original wiederherstellen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Rests on: {names}. Click to show it on the image.</source>
            <translation>Beruht auf: {names}. Klicken zeigt es auf dem Bild.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Result</source>
            <translation>Ergebnis</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Result of the test</source>
            <translation>Ergebnis des Tests</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Result {number}, from earlier</source>
            <translation>Ergebnis {number}, von früher</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Result {number}: {title} ({tool})</source>
            <translation>Ergebnis {number}: {title} ({tool})</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Results on an image that a tool was not made for may be meaningless. Your yes applies to this image in this conversation, and every result on it says so.</source>
            <translation>Ergebnisse auf einem Bild, für das ein Werkzeug nicht gemacht ist, können bedeutungslos sein. Ihr Ja gilt für dieses Bild in diesem Gespräch, und jedes Ergebnis darauf weist darauf hin.</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Review findings</source>
            <translation>Befunde beurteilen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Revision {revision}</source>
            <translation>Revision {revision}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Right</source>
            <translation>Rechts</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>right</source>
            <translation>rechts</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Right Clavicle</source>
            <translation>Rechte Klavikula</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Right drag, click</source>
            <translation>Rechts ziehen, klicken</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Right Hilus Pulmonis</source>
            <translation>Rechter Hilus</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Right Lung</source>
            <translation>Rechte Lunge</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Right Scapula</source>
            <translation>Rechte Skapula</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Rotate left</source>
            <translation>Nach links drehen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>rotate left, right</source>
            <translation>nach links, rechts drehen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Rotate right</source>
            <translation>Nach rechts drehen</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Rotated 180°</source>
            <translation>Um 180° gedreht</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Rotated 90° left</source>
            <translation>Um 90° nach links gedreht</translation>
        </message>
        <message>
            <location filename="../../app/workspace/viewport.py" />
            <source>Rotated 90° right</source>
            <translation>Um 90° nach rechts gedreht</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/preprocessing.py" />
            <source>Rounding</source>
            <translation>Werte werden gerundet</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Row {number}: {problem}</source>
            <translation>Zeile {number}: {problem}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Rows and columns</source>
            <translation>Zeilen und Spalten</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Rows and columns of viewports</source>
            <translation>Zeilen und Spalten der Viewports</translation>
        </message>
        <message>
            <location filename="../../app/views/results/table_pane.py" />
            <source>Rows shown as CSV…</source>
            <translation>Gezeigte Zeilen als CSV …</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Rule</source>
            <translation>Regel</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Rule for it</source>
            <translation>Regel dafür</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Rule for the session</source>
            <translation>Regel für die Sitzung</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Rule for {tool}</source>
            <translation>Regel für {tool}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Rules first</source>
            <translation>Regeln zuerst</translation>
        </message>
        <message>
            <location filename="../../app/imaging/demo.py" />
            <source>Run `python3 installer/bootstrap.py run` once, or `pip install pydicom-data`</source>
            <translation>Führen Sie einmal `python3 installer/bootstrap.py run` aus, oder `pip install pydicom-data`</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/published_weights.py" />
            <source>Run `{0} models verify {1}`, and install it again.</source>
            <translation>Führen Sie `{0} models verify {1}` aus und installieren Sie es erneut.</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/generated_analysis.py" />
            <source>Run a generated analysis</source>
            <translation>Erzeugte Auswertung ausführen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/pane.py" />
            <source>Run the tool again</source>
            <translation>Führen Sie das Werkzeug erneut aus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Running</source>
            <translation>Läuft</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>running</source>
            <translation>läuft</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/generated_analysis.py" />
            <source>Running the code</source>
            <translation>Code läuft</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Runs</source>
            <translation>Läufe</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Runs an imaging model; writes into the conversation's own folder.</source>
            <translation>Führt ein Bildmodell aus; schreibt in den Ordner des Gesprächs.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Runs freely</source>
            <translation>Läuft frei</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>runs freely</source>
            <translation>läuft frei</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Runs programs</source>
            <translation>Startet Programme</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>runs programs</source>
            <translation>startet Programme</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>Sagittal</source>
            <translation>Sagittal</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>sagittal</source>
            <translation>sagittal</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>said in the chat</source>
            <translation>im Gespräch gesagt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>same SOP Instance UID</source>
            <translation>gleiche SOP Instance UID</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>samples of an unknown type</source>
            <translation>Werte eines unbekannten Typs</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Save</source>
            <translation>Speichern</translation>
        </message>
        <message>
            <location filename="../../app/wiring/window_builder.py" />
            <source>Save a picture of the window with --screenshot FILE.</source>
            <translation>Speichern Sie ein Bild des Fensters mit --screenshot DATEI.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>Save a secondary capture, a picture or a table (CSV) instead.</source>
            <translation>Speichern Sie stattdessen eine Sekundäraufnahme, ein Bild oder eine Tabelle (CSV).</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/movie_file.py" />
            <source>Save it as GIF or as TIFF instead</source>
            <translation>Speichern Sie es stattdessen als GIF oder TIFF</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Saved %n lines to {path}.</source>
            <extracomment>Singular: Saved %n line to {path}.</extracomment>
            <translation>
                <numerusform>%n Zeile in {path} gespeichert.</numerusform>
                <numerusform>%n Zeilen in {path} gespeichert.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <location filename="../../app/views/report/report_files.py" />
            <location filename="../../app/views/results/exporting.py" />
            <source>Saved in {path}</source>
            <translation>Gespeichert in {path}</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Saved marks</source>
            <translation>Gespeicherte Markierungen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Saved marks…</source>
            <translation>Gespeicherte Markierungen …</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Saved. It holds for the next study that is opened.</source>
            <translation>Gespeichert. Es gilt ab der nächsten geöffneten Studie.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Saving…</source>
            <translation>Wird gespeichert…</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Say which it is with --name, or install one folder models--* at a time.</source>
            <translation>Sagen Sie mit --name, welches es ist, oder installieren Sie die Ordner models--* einzeln.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Say which it is with --name.</source>
            <translation>Sagen Sie mit --name, welches es ist.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>Say which it is with --name. Known files: {0}. Known folders: {1}.</source>
            <translation>Sagen Sie mit --name, welches es ist. Bekannte Dateien: {0}. Bekannte Ordner: {1}.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Says nothing of what it rests on: {told}</source>
            <translation>Sagt nichts von dem, worauf es beruht: {told}</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Scale</source>
            <translation>Skalierung</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>Scan the DICOM folder</source>
            <translation>DICOM-Ordner durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/classifier.py" />
            <source>Score chest findings</source>
            <translation>Thoraxbefunde bewerten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>score {score:.2f}</source>
            <translation>Score {score:.2f}</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Scroll</source>
            <translation>Blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Scroll down: you have not seen every picture.</source>
            <translation>Blättern Sie nach unten: Sie haben nicht jedes Bild gesehen.</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>scroll through the images</source>
            <translation>durch die Bilder blättern</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>scroll through the series</source>
            <translation>durch die Serie blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Scroll up to see what is asked; then it can be allowed.</source>
            <translation>Blättern Sie nach oben, um zu sehen, was gefragt wird; dann kann es erlaubt werden.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>scroll, or zoom; zoom at the cursor</source>
            <translation>blättern oder zoomen; am Mauszeiger zoomen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Search</source>
            <translation>Suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Search a command or a key</source>
            <translation>Befehl oder Taste suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>Search complaint or disease</source>
            <translation>Beschwerde oder Krankheit suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>search in a report</source>
            <translation>in einem Bericht suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Search in the report</source>
            <translation>Im Bericht suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Search in the report; Enter finds the next place</source>
            <translation>Im Bericht suchen; Eingabe findet die nächste Stelle</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Search name or ID</source>
            <translation>Name oder Kennung suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <source>Search patient, study or series</source>
            <translation>Patient, Studie, Serie</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>Search tag, name or value</source>
            <translation>Tag, Name oder Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>Search the attributes</source>
            <translation>Attribute durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Search the audit log</source>
            <translation>Audit-Protokoll durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/command_palette.py" />
            <location filename="../../app/views/shortcuts.py" />
            <source>Search the commands</source>
            <translation>Befehle durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Search the findings</source>
            <translation>Befunde durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <source>Search the open studies</source>
            <translation>Geöffnete Studien durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Search the patients</source>
            <translation>Patienten suchen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Search the record</source>
            <translation>Akte durchsuchen</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Search: a tool, a host, or the SOP Instance UID of an image</source>
            <translation>Suche: Werkzeug, Host oder SOP Instance UID eines Bildes</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Second window</source>
            <translation>Zweites Fenster</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>second window</source>
            <translation>zweites Fenster</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Secondary capture: the pane as it is shown</source>
            <translation>Sekundäraufnahme: die Ansicht, wie sie gezeigt wird</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>Section</source>
            <translation>Abschnitt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/reformat.py" />
            <source>section {0} of {1}</source>
            <translation>Schnitt {0} von {1}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Section {number} / {count}</source>
            <translation>Schnitt {number} / {count}</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/checkpoint.py" />
            <source>See `{0} models list` for the file that is needed.</source>
            <translation>`{0} models list` nennt die benötigte Datei.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>See it in full size</source>
            <translation>In voller Größe ansehen</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>See the study list for what to do.</source>
            <translation>Was zu tun ist, steht in der Liste der Studien.</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>See what is shown</source>
            <translation>Sehen, was gezeigt wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>see {0} (not in this document)</source>
            <translation>siehe {0} (nicht in diesem Dokument)</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/single_cell_cropper.py" />
            <source>Segment the image again, or lower min_area, or use border 'keep'.</source>
            <translation>Segmentieren Sie das Bild erneut, senken Sie min_area, oder nehmen Sie border 'keep'.</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Segment what I marked</source>
            <translation>Markiertes segmentieren</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/medsam2_segment.py" />
            <source>Segment what is marked</source>
            <translation>Markiertes segmentieren</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>segment what you marked</source>
            <translation>Markiertes segmentieren</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>segmentation</source>
            <translation>Segmentierung</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Segmentations, structure sets, presentation states and overlays of the shown image appear here.</source>
            <translation>Segmentierungen, Konturensätze, Präsentationszustände und Overlays des gezeigten Bildes erscheinen hier.</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Segmentations: masks</source>
            <translation>Segmentierungen: Masken</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/psp_net.py" />
            <location filename="../../app/tools/chest/thorax_net.py" />
            <source>Segmenting</source>
            <translation>Wird segmentiert</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Segmenting with Cellpose</source>
            <translation>Cellpose segmentiert</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Segmenting with InstanSeg</source>
            <translation>InstanSeg segmentiert</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Segmenting with StarDist</source>
            <translation>StarDist segmentiert</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Select a line to see its details</source>
            <translation>Wählen Sie eine Zeile, um Einzelheiten zu sehen</translation>
        </message>
        <message>
            <location filename="../../app/views/text_view.py" />
            <source>Select all</source>
            <translation>Alles auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Select channel {name}</source>
            <translation>Kanal {name} auswählen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>select it, or one of its objects</source>
            <translation>ihn oder eines seiner Objekte auswählen</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>selected from</source>
            <translation>ausgewählt aus</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>selection of key images</source>
            <translation>Auswahl von Schlüsselbildern</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Self-check</source>
            <translation>Selbsttest</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Send</source>
            <translation>Senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Send anyway</source>
            <translation>Trotzdem senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Send pictures</source>
            <translation>Bilder senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Send the question</source>
            <translation>Frage senden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Send the record's results</source>
            <translation>Ergebnisse aus der Akte senden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Send them to a remote model, without names</source>
            <translation>An ein fernes Modell senden, ohne Namen</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>Send this conversation to {0}?</source>
            <translation>Dieses Gespräch an {0} senden?</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Send to another computer?</source>
            <translation>An einen anderen Computer senden?</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Sending to {host}…</source>
            <translation>Senden an {host}…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Sends</source>
            <translation>Sendet</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>sends</source>
            <translation>sendet</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/arguments.py" />
            <source>sends to</source>
            <translation>sendet an</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Sent</source>
            <translation>Gesendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>sent a broken answer (nobody had cancelled it)</source>
            <translation>sandte eine fehlerhafte Antwort (niemand hatte sie abgebrochen)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>sent a broken answer (of an unknown kind)</source>
            <translation>sandte eine fehlerhafte Antwort (unbekannter Art)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>sent a broken answer ({0})</source>
            <translation>sandte eine fehlerhafte Antwort ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Sent to a host that you allowed</source>
            <translation>An einen von Ihnen erlaubten Host gesendet</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>sentences of the chat that cite the selected finding</source>
            <translation>Sätze des Chats, die auf den gewählten Befund verweisen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/smears.py" />
            <source>Separating cells that overlap</source>
            <translation>Überlappende Zellen werden getrennt</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/bright_objects.py" />
            <location filename="../../app/tools/microscopy/classical.py" />
            <location filename="../../app/tools/microscopy/dark_objects.py" />
            <source>Separating objects that touch</source>
            <translation>Objekte, die sich berühren, werden getrennt</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Series</source>
            <translation>Serie</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Series description</source>
            <translation>Serienbeschreibung</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <source>Series {number}</source>
            <translation>Serie {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>series {series}, {image}</source>
            <translation>Serie {series}, {image}</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Set</source>
            <translation>Setzen</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Set all back to proposed</source>
            <translation>Alle wieder auf vorgeschlagen setzen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>set by hand</source>
            <translation>von Hand gesetzt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Set by the environment variable {variable}.</source>
            <translation>Durch die Umgebungsvariable {variable} gesetzt.</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Set finding back to proposed</source>
            <translation>Befund wieder auf vorgeschlagen setzen</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>set of contours</source>
            <translation>Konturensatz</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>Set SIGHTLINE_CUDA to a folder with space.</source>
            <translation>Setzen Sie SIGHTLINE_CUDA auf einen Ordner mit Platz.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>Set SIGHTLINE_MODELS to a folder that you may write to.</source>
            <translation>Setzen Sie SIGHTLINE_MODELS auf einen Ordner, in den Sie schreiben dürfen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Set the window</source>
            <translation>Fenster einstellen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Set {names} back to proposed?</source>
            <translation>{names} wieder auf vorgeschlagen setzen?</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Settings</source>
            <translation>Einstellungen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Settings changed</source>
            <translation>Einstellungen geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Settings…</source>
            <translation>Einstellungen…</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>several images lie at the same position, and nothing distinguishes them</source>
            <translation>mehrere Bilder liegen an derselben Position, und nichts unterscheidet sie</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>several of its images have the SOP Instance UIDs of others, but are other images</source>
            <translation>mehrere der Bilder haben die SOP Instance UIDs anderer, sind aber andere Bilder</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>several of its images lie at the same position</source>
            <translation>mehrere der Bilder liegen an derselben Position</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>several ultrasound regions with different scales</source>
            <translation>mehrere Ultraschallregionen mit verschiedenen Maßstäben</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Severity</source>
            <translation>Schweregrad</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Sex</source>
            <translation>Geschlecht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>sheared by {0}°</source>
            <translation>um {0}° geschert</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Shipped</source>
            <translation>Mitgeliefert</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Shipped ones</source>
            <translation>Mitgelieferte</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Shipped with Sightline. Duplicate it to have one that you can edit.</source>
            <translation>Mit Sightline geliefert. Kopieren Sie es, um es zu bearbeiten.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Short sentences; measurements in millimetres</source>
            <translation>Kurze Sätze; Maße in Millimetern</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Shortcut</source>
            <translation>Taste</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Show</source>
            <translation>Zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Show a plan of several steps before it begins</source>
            <translation>Einen Plan aus mehreren Schritten zeigen, bevor er beginnt</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Show a series</source>
            <translation>Serie zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>Show all</source>
            <translation>Alle zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Show all channels in their colours, or the selected one in grey</source>
            <translation>Alle Kanäle in ihren Farben zeigen oder den ausgewählten in Grau</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Show all findings</source>
            <translation>Alle Befunde zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Show all findings again</source>
            <translation>Alle Befunde wieder zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/crops.py" />
            <source>Show all {count}</source>
            <translation>Alle {count} zeigen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/analysis_visualizer.py" />
            <source>Show cell analysis</source>
            <translation>Zellanalyse zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Show channel {name}</source>
            <translation>Kanal {name} zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>Show earlier messages</source>
            <translation>Frühere Nachrichten zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Show findings</source>
            <translation>Befunde einblenden</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/image_visualizer.py" />
            <source>Show image</source>
            <translation>Bild zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Show in the record</source>
            <translation>In der Akte zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Show it pictures of what the viewer shows</source>
            <translation>Ihm Bilder dessen zeigen, was der Betrachter zeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Show its attributes</source>
            <translation>Attribute zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/layer_loading.py" />
            <source>Show its image first</source>
            <translation>Zeigen Sie zuerst sein Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Show on the image</source>
            <translation>Im Bild zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Show only this</source>
            <translation>Nur dies zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Show or hide all panels</source>
            <translation>Alle Bereiche zeigen oder ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Show or hide heatmaps</source>
            <translation>Heatmaps zeigen oder ausblenden</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>show or hide heatmaps</source>
            <translation>Heatmaps zeigen oder ausblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Show originals of edited findings</source>
            <translation>Originale bearbeiteter Befunde zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/review_menu.py" />
            <source>Show rejected findings</source>
            <translation>Abgelehnte Befunde zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/disagreement.py" />
            <source>Show result {number}</source>
            <translation>Ergebnis {number} zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Show the images as acquired.</source>
            <translation>Zeigen Sie die Bilder wie aufgenommen.</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Show the images that this selection names</source>
            <translation>Die Bilder zeigen, die diese Auswahl nennt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Show the question</source>
            <translation>Frage zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Show the study</source>
            <translation>Studie zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>Show the study that you asked about, and ask again.</source>
            <translation>Zeigen Sie die Studie, nach der Sie gefragt haben, und fragen Sie noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>Show the whole layer</source>
            <translation>Ganzes Overlay zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Show these findings only</source>
            <translation>Nur diese Befunde einblenden</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>Show {text}</source>
            <translation>{text} zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/crops.py" />
            <location filename="../../app/views/chat/finding_links.py" />
            <source>Show {text} on the image</source>
            <translation>{text} im Bild zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Show {title} on its image</source>
            <translation>{title} auf dem Bild zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Shows</source>
            <translation>Zeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Side</source>
            <translation>Seite</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Side: the text says {told}, accepted is: {true}</source>
            <translation>Seite: der Text sagt {told}, angenommen ist: {true}</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Side: the text says {told}, the finding {true}</source>
            <translation>Seite: Der Text sagt {told}, der Befund {true}</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Sightline audit log</source>
            <translation>Sightline Audit-Protokoll</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Sightline conversation {day:%Y-%m-%d %H%M}</source>
            <translation>Sightline Gespräch {day:%Y-%m-%d %H%M}</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>Sightline fetches nothing by itself: put the model where its package looks for it, once with the network, or use model classical.</source>
            <translation>Sightline holt nichts von selbst: Legen Sie das Modell dorthin, wo sein Paket es sucht, einmal mit Netzverbindung, oder nehmen Sie das Modell classical.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <location filename="../../app/views/pictures/printing.py" />
            <source>Sightline picture</source>
            <translation>Sightline-Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/results/exporting.py" />
            <source>Sightline plot</source>
            <translation>Sightline-Diagramm</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>Sightline report</source>
            <translation>Sightline-Bericht</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Sightline series</source>
            <translation>Sightline-Serie</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Sightline started</source>
            <translation>Sightline gestartet</translation>
        </message>
        <message>
            <location filename="../../resources/tables/language_models.toml" />
            <source>Sightline starts a language model from a file on this computer, in a process of its own, and stops it again. Loading can take half a minute.</source>
            <translation>Sightline startet ein Sprachmodell aus einer Datei auf diesem Computer in einem eigenen Prozess und beendet es wieder. Das Laden kann eine halbe Minute dauern.</translation>
        </message>
        <message>
            <location filename="../../app/views/results/exporting.py" />
            <source>Sightline table</source>
            <translation>Sightline-Tabelle</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Sightline was closed before this was finished.</source>
            <translation>Sightline wurde geschlossen, bevor dies fertig war.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sr.py" />
            <source>Sightline: Findings, unverified</source>
            <translation>Sightline: Befunde, unverifiziert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_report.py" />
            <source>Sightline: Report, draft, not signed</source>
            <translation>Sightline: Bericht, Entwurf, nicht unterschrieben</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/viewport_area.py" />
            <source>Sightline: second window</source>
            <translation>Sightline: zweites Fenster</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>Sightline: Segmentation, unverified</source>
            <translation>Sightline: Segmentierung, unverifiziert</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Sign</source>
            <translation>Unterschreiben</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/report/report_panel.py" />
            <source>Sign with %n things unchecked?</source>
            <extracomment>Singular: Sign with %n thing unchecked?</extracomment>
            <translation>
                <numerusform>Mit %n offenem Punkt unterschreiben?</numerusform>
                <numerusform>Mit %n offenen Punkten unterschreiben?</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Signed by {name}, {when}</source>
            <translation>Unterschrieben von {name}, {when}</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Site</source>
            <translation>Region</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>Site convention</source>
            <translation>Konvention des Hauses</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_table.py" />
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Size</source>
            <translation>Größe</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Size and detail</source>
            <translation>Größe und Schärfe</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Slice {place} mm</source>
            <translation>Pos. {place} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>slices overlap after slice {0}: they are {1} mm thick and {2} mm apart</source>
            <translation>Schichten überlappen nach Schicht {0}: Sie sind {1} mm dick und liegen {2} mm auseinander</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Slower cine</source>
            <translation>Cine langsamer</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>smaller</source>
            <translation>kleiner</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Smooth enlarged pixels</source>
            <translation>Vergrößerte Pixel glätten</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>snap points to edges or not; not now</source>
            <translation>Punkte an Kanten einrasten oder nicht; jetzt nicht</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Snap to edges</source>
            <translation>An Kanten einrasten</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/clinical_notes.py" />
            <source>SOAP notes</source>
            <translation>SOAP-Notizen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Some fields cannot be saved as they are.</source>
            <translation>Einige Felder können so nicht gespeichert werden.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>some of its graphics or texts are damaged or of an unknown kind</source>
            <translation>einige der Grafiken oder Texte sind beschädigt oder unbekannter Art</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>some of its images are missing</source>
            <translation>einige der Bilder fehlen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>some of its images show high values bright, others dark</source>
            <translation>einige der Bilder zeigen hohe Werte hell, andere dunkel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>some of its planes are missing</source>
            <translation>einige der Ebenen fehlen</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/store.py" />
            <source>some of the conversation could not be deleted ({0})</source>
            <translation>ein Teil des Gesprächs konnte nicht gelöscht werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/settings.py" />
            <source>Some rules for tools cannot be read: every tool asks.</source>
            <translation>Einige Regeln für Werkzeuge sind nicht lesbar: Jedes Werkzeug fragt.</translation>
        </message>
        <message>
            <location filename="../../app/wiring/assistant.py" />
            <source>Some settings were not as expected</source>
            <translation>Einige Einstellungen waren nicht wie erwartet</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>something else was done meanwhile</source>
            <translation>inzwischen wurde etwas anderes getan</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>something in the report contradicts its findings</source>
            <translation>etwas im Bericht widerspricht seinen Befunden</translation>
        </message>
        <message>
            <location filename="../../app/errors.py" />
            <source>Something unexpected went wrong ({0})</source>
            <translation>Etwas Unerwartetes ist schiefgegangen ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>Something went wrong</source>
            <translation>Etwas ist schiefgegangen</translation>
        </message>
        <message>
            <location filename="../../app/views/background.py" />
            <location filename="../../app/views/record/record_opening.py" />
            <source>something went wrong inside Sightline</source>
            <translation>in Sightline ist ein Fehler aufgetreten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <source>Sorted by {order}</source>
            <translation>Sortiert nach {order}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Source</source>
            <translation>Quelle</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <location filename="../../app/views/models/models_window.py" />
            <source>Sources</source>
            <translation>Quellen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>spatial coordinates that cannot be drawn: their points do not fit</source>
            <translation>räumliche Koordinaten, die nicht gezeichnet werden können: Ihre Punkte passen nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>specimen</source>
            <translation>Präparat</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Spine</source>
            <translation>Wirbelsäule</translation>
        </message>
        <message>
            <location filename="../../app/imaging/types.py" />
            <source>standard space</source>
            <translation>Standardraum</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Stands with what you accept, edit or reject. Empty: your login name.</source>
            <translation>Steht bei dem, was Sie annehmen, bearbeiten oder ablehnen. Leer: Ihr Anmeldename.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Starting the model. This can take half a minute…</source>
            <translation>Das Modell startet. Das kann eine halbe Minute dauern…</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <location filename="../../app/views/main_window.py" />
            <source>Starting…</source>
            <translation>Wird gestartet…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_table.py" />
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>State</source>
            <translation>Zustand</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>stated by the file (ImageJ, in {0})</source>
            <translation>von der Datei angegeben (ImageJ, in {0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>stated by the file (Micro-Manager)</source>
            <translation>von der Datei angegeben (Micro-Manager)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>stated by the file (MPP of the slide scanner)</source>
            <translation>von der Datei angegeben (MPP des Objektträgerscanners)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>stated by the file (OME PhysicalSize)</source>
            <translation>von der Datei angegeben (OME PhysicalSize)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>stated by the file; {0}</source>
            <translation>von der Datei angegeben; {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>Statistics and histogram…</source>
            <translation>Statistik und Histogramm…</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Status</source>
            <translation>Status</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Step {number}</source>
            <translation>Schritt {number}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Step {place} of {count}: </source>
            <translation>Schritt {place} von {count}: </translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Steps</source>
            <translation>Schritte</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Steps of the test</source>
            <translation>Schritte des Tests</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Stop</source>
            <translation>Anhalten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Stop (Esc)</source>
            <translation>Stopp (Esc)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Stop after this tool</source>
            <translation>Nach diesem Werkzeug stoppen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Stop at once (Esc)</source>
            <translation>Sofort stoppen (Esc)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>Stop now</source>
            <translation>Jetzt stoppen</translation>
        </message>
        <message>
            <location filename="../../app/views/file_opening.py" />
            <location filename="../../app/views/record/record_opening.py" />
            <source>Stop opening</source>
            <translation>Öffnen stoppen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>Stop the answer first.</source>
            <translation>Stoppen Sie zuerst die Antwort.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Stopped</source>
            <translation>Gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>stopped</source>
            <translation>gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Stopped before the last file; the copies that were made stay.</source>
            <translation>Vor der letzten Datei angehalten; die fertigen Kopien bleiben.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Stopped; nothing was changed.</source>
            <translation>Gestoppt; es wurde nichts geändert.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Stopping</source>
            <translation>Wird gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Stopping after these tools…</source>
            <translation>Stopp nach diesen Werkzeugen…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Stopping after this tool…</source>
            <translation>Stopp nach diesem Werkzeug…</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Stopping…</source>
            <translation>Wird gestoppt…</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>stored; type another to replace it</source>
            <translation>gespeichert; zum Ersetzen einen anderen eingeben</translation>
        </message>
        <message>
            <location filename="../../resources/tables/dicom.toml" />
            <source>Stroke</source>
            <translation>Schlaganfall</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>Strong</source>
            <translation>Stark</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Struck: its finding is no longer accepted</source>
            <translation>Gestrichen: Der Befund ist nicht mehr angenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Structured report: marks, measurements and findings</source>
            <translation>Strukturierter Bericht: Markierungen, Messungen und Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <location filename="../../app/views/window_docks.py" />
            <source>Studies</source>
            <translation>Studien</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_list.py" />
            <source>Studies and series</source>
            <translation>Studien und Serien</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Studies with saved marks</source>
            <translation>Studien mit gespeicherten Markierungen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>studies, attributes, findings, layers, record, diagnosis, report, assistant</source>
            <translation>Studien, Attribute, Befunde, Ebenen, Akte, Diagnose, Bericht, Assistent</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>Study</source>
            <translation>Studie</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Summary</source>
            <translation>Zusammenfassung</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>superseded</source>
            <translation>ersetzt</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/synthetic_band.py" />
            <source>SYNTHETIC</source>
            <translation>SYNTHETISCH</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>Synthetic image</source>
            <translation>Synthetisches Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/synthetic_band.py" />
            <source>SYNTHETIC, made by {model}: not a patient</source>
            <translation>SYNTHETISCH, erzeugt von {model}: kein Patient</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <source>SYNTHETIC, no patient</source>
            <translation>SYNTHETISCH, kein Patient</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/synthetic_band.py" />
            <source>SYNTHETIC: not a patient</source>
            <translation>SYNTHETISCH: kein Patient</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>System</source>
            <translation>System</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Tab, {full_screen}, {texts}</source>
            <translation>Tab, {full_screen}, {texts}</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Table (*.csv)</source>
            <translation>Tabelle (*.csv)</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Table or plot…</source>
            <translation>Tabelle oder Diagramm …</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Table: {title}</source>
            <translation>Tabelle: {title}</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Table: {title} (%n rows)</source>
            <extracomment>Singular: Table: {title} (%n row)</extracomment>
            <translation>
                <numerusform>Tabelle: {title} (%n Zeile)</numerusform>
                <numerusform>Tabelle: {title} (%n Zeilen)</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/differential_tool.py" />
            <location filename="../../app/tools/diagnosis/plan.py" />
            <source>Tables of likelihood ratios</source>
            <translation>Tabellen der Likelihood-Quotienten</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>Tag</source>
            <translation>Tag</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>Take a label volume of this image</source>
            <translation>Nehmen Sie ein Label-Volumen dieses Bildes</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Take back the signature</source>
            <translation>Unterschrift zurücknehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Take back the signature of {name}?</source>
            <translation>Die Unterschrift von {name} zurücknehmen?</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Take back what I set</source>
            <translation>Eigene Angabe zurücknehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Take it out of memory; it is loaded again when needed</source>
            <translation>Aus dem Speicher nehmen; bei Bedarf wird es wieder geladen</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>Take marks over</source>
            <translation>Markierungen übernehmen</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/differential.py" />
            <source>Take one of the two back.</source>
            <translation>Nehmen Sie eines von beiden zurück.</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Take over the report's marks</source>
            <translation>Markierungen des Berichts übernehmen</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>Take the CUDA pack that was made with this version of Sightline.</source>
            <translation>Nehmen Sie das CUDA-Paket, das mit dieser Version von Sightline erstellt wurde.</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>Take the key</source>
            <translation>Taste übernehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>take the last point of a drawing back</source>
            <translation>den letzten Punkt einer Zeichnung zurücknehmen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/written_report.py" />
            <source>Take the signature back and remove the struck sentence, or accept the finding.</source>
            <translation>Die Unterschrift zurücknehmen und den gestrichenen Satz entfernen, oder den Befund annehmen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/written_report.py" />
            <source>Take the signature back, look at the sentence and sign again; or undo it.</source>
            <translation>Nehmen Sie die Unterschrift zurück, prüfen Sie den Satz und unterschreiben Sie neu; oder machen Sie die Änderung rückgängig.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Take the table's probability again</source>
            <translation>Wieder die Wahrscheinlichkeit der Tabelle nehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>Take this step out of the plan</source>
            <translation>Diesen Schritt aus dem Plan nehmen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Takes effect at once, until Sightline is closed.</source>
            <translation>Wirkt sofort, bis Sightline geschlossen wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Template</source>
            <translation>Vorlage</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>temporal position</source>
            <translation>zeitliche Position</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>ten back, ten forward</source>
            <translation>zehn zurück, zehn vor</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Terms</source>
            <translation>Bedingungen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Terms and code…</source>
            <translation>Bedingungen und Code…</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>Terms not accepted</source>
            <translation>Bedingungen nicht akzeptiert</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Terms of {title}</source>
            <translation>Bedingungen von {title}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Test connection</source>
            <translation>Verbindung testen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Test model</source>
            <translation>Modell testen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Tested here</source>
            <translation>Hier getestet</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/generated_analysis.py" />
            <source>Testing the sandbox</source>
            <translation>Sandbox wird geprüft</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <location filename="../../app/views/settings/memory_page.py" />
            <location filename="../../app/workspace/drawing.py" />
            <source>Text</source>
            <translation>Text</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>Text (*.txt)</source>
            <translation>Text (*.txt)</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>text and results</source>
            <translation>Text und Ergebnisse</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>text is burnt into its pixels (Burned In Annotation: YES)</source>
            <translation>Text ist in die Pixel eingebrannt (Burned In Annotation: YES)</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/drawing_tool.py" />
            <source>Text of the mark</source>
            <translation>Text der Markierung</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>Text that is burnt into pixels and faces in them stay, but for what you blank: look at each picture before you hand the copy on.</source>
            <translation>In Pixel eingebrannter Text und Gesichter bleiben, außer dem, was Sie überdecken: sehen Sie jedes Bild an, bevor Sie die Kopie weitergeben.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Texts</source>
            <translation>Texte</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>Texts and arrows</source>
            <translation>Texte und Pfeile</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Texts and overlays that files draw on it are left out.</source>
            <translation>Texte und Overlays, die Dateien darauf zeichnen, sind weggelassen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/host.py" />
            <source>The accelerator's memory is full: trying again on the processor</source>
            <translation>Der Speicher des Beschleunigers ist voll: neuer Versuch auf dem Prozessor</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>the addendum is empty</source>
            <translation>der Nachtrag ist leer</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the address names no patient</source>
            <translation>die Adresse nennt keinen Patienten</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/providers.py" />
            <source>the address of the language model contains more than host and path</source>
            <translation>die Adresse des Sprachmodells enthält mehr als Host und Pfad</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/endpoint.py" />
            <source>the address of the language model is not a web address</source>
            <translation>die Adresse des Sprachmodells ist keine Webadresse</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>the archive contains it more than once; the last is listed</source>
            <translation>das Archiv enthält sie mehrmals; die letzte ist aufgeführt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>the archive contains too many files</source>
            <translation>das Archiv enthält zu viele Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>The assistant answers from the record, and each value links to its entry.</source>
            <translation>Der Assistent antwortet aus der Akte, und jeder Wert führt zu seinem Eintrag.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The assistant asks something</source>
            <translation>Der Assistent fragt etwas</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The assistant could not finish</source>
            <translation>Der Assistent konnte nicht fertig werden</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The assistant has finished</source>
            <translation>Der Assistent ist fertig</translation>
        </message>
        <message>
            <location filename="../../app/views/agent_thread.py" />
            <source>The assistant is not running.</source>
            <translation>Der Assistent läuft nicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>The assistant is told the reason. Enter refuses.</source>
            <translation>Der Grund wird dem Assistenten mitgeteilt. Die Eingabetaste lehnt ab.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>The assistant is waiting for your answer.</source>
            <translation>Der Assistent wartet auf Ihre Antwort.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The assistant kept asking for the same tool call and was stopped.</source>
            <translation>Der Assistent verlangte immer wieder denselben Werkzeugaufruf und wurde gestoppt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The assistant repeated itself in a loop and was stopped.</source>
            <translation>Der Assistent wiederholte sich in einer Schleife und wurde gestoppt.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>The assistant runs imaging tools on it. What they find is drawn on the image.</source>
            <translation>Der Assistent wendet Bildwerkzeuge darauf an. Was sie finden, wird in das Bild gezeichnet.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>The assistant wants to do this.</source>
            <translation>Der Assistent möchte das tun.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>The assistant wants to do this:</source>
            <translation>Der Assistent möchte Folgendes tun:</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>The attributes cannot be read</source>
            <translation>Die Attribute sind nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>The audit log cannot be read</source>
            <translation>Das Audit-Protokoll ist nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>the audit log cannot be read ({reason})</source>
            <translation>das Audit-Protokoll ist nicht lesbar ({reason})</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>The audit log is empty</source>
            <translation>Das Audit-Protokoll ist leer</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>the axes of its sform are not perpendicular: its qform is used</source>
            <translation>die Achsen der sform stehen nicht senkrecht zueinander: Die qform wird verwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>The bar is</source>
            <translation>Der Balken ist</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>the birth date differs ({0} in the image, {1} in the record)</source>
            <translation>das Geburtsdatum ist verschieden ({0} im Bild, {1} in der Akte)</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/store.py" />
            <source>the branch cannot be written ({0})</source>
            <translation>die Verzweigung kann nicht geschrieben werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the bundle has the key {0} twice</source>
            <translation>das Bundle hat den Schlüssel {0} zweimal</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the bundle's entries are no list</source>
            <translation>die Einträge des Bundles sind keine Liste</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>The chosen model needs none.</source>
            <translation>Das gewählte Modell braucht keinen.</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>The chosen slices have the marks already.</source>
            <translation>Die gewählten Schichten haben die Markierungen schon.</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_data.py" />
            <source>the column {0} of the plot's table has words in place of numbers</source>
            <translation>die Spalte {0} der Tabelle des Diagramms enthält Wörter statt Zahlen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/nifti.py" />
            <source>the compressed file is damaged</source>
            <translation>die komprimierte Datei ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>The connection is not encrypted (http, not https): whoever is on the network between this computer and {0} can read all of it, and can change the answers.</source>
            <translation>Die Verbindung ist nicht verschlüsselt (http, nicht https): Wer im Netz zwischen diesem Computer und {0} ist, kann alles lesen und die Antworten verändern.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>The conversation may be sent to {host}</source>
            <translation>Das Gespräch darf an {host} gesendet werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>the copy must not be made among the originals</source>
            <translation>die Kopie darf nicht zwischen den Originalen angelegt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/process.py" />
            <source>the copying process did not start</source>
            <translation>der kopierende Prozess ist nicht gestartet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/scan.py" />
            <source>the decoding process sent a broken answer</source>
            <translation>der Dekodierprozess hat eine fehlerhafte Antwort gesendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/demo.py" />
            <source>the demo study is not installed</source>
            <translation>die Demo-Studie ist nicht installiert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>the DICOMDIR has more than {0} records</source>
            <translation>das DICOMDIR hat mehr als {0} Einträge</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/scan.py" />
            <source>the DICOMDIR is damaged</source>
            <translation>das DICOMDIR ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>the DICOMDIR names it, but there is no such file</source>
            <translation>das DICOMDIR nennt sie, aber eine solche Datei gibt es nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>the DICOMDIR names no file that is there</source>
            <translation>das DICOMDIR nennt keine Datei, die da ist</translation>
        </message>
        <message>
            <location filename="../../app/errors.py" />
            <source>The disk is full</source>
            <translation>Der Datenträger ist voll</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>The document contains this conversation as it is: your questions, the answers, what the tools were given and what they found. It may name the patient. Save it only where patient data may be kept.</source>
            <translation>Das Dokument enthält dieses Gespräch so, wie es ist: Ihre Fragen, die Antworten, was die Werkzeuge erhielten und was sie fanden. Es kann den Patienten nennen. Speichern Sie es nur dort, wo Patientendaten liegen dürfen.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>The document may contain patient data.</source>
            <translation>Das Dokument kann Patientendaten enthalten.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>the download is not the published file ({0} {1}, expected {2})</source>
            <translation>der Download ist nicht die veröffentlichte Datei ({0} {1}, erwartet {2})</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/movie_file.py" />
            <source>the encoder does not answer</source>
            <translation>der Kodierer antwortet nicht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>The endpoint failed</source>
            <translation>Der Endpunkt hat versagt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>The endpoint is on this computer; nothing leaves it.</source>
            <translation>Der Endpunkt ist auf diesem Computer; nichts verlässt ihn.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>The endpoint lists no models: type the name.</source>
            <translation>Der Endpunkt listet keine Modelle: Geben Sie den Namen ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>The endpoint's own tool calls</source>
            <translation>Die Werkzeugaufrufe des Endpunkts</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>The entry</source>
            <translation>Der Eintrag</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the entry has no resource</source>
            <translation>der Eintrag hat keine Ressource</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the entry has the key {0} twice</source>
            <translation>der Eintrag hat den Schlüssel {0} zweimal</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>The entry is in the record of {name}.</source>
            <translation>Der Eintrag steht in der Akte von {name}.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the entry is no JSON object</source>
            <translation>der Eintrag ist kein JSON-Objekt</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the entry says that a resource was deleted</source>
            <translation>der Eintrag sagt, dass eine Ressource gelöscht wurde</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>The environment variable {variable} holds a key: it will be sent to {host} when you test or save this address.</source>
            <translation>Die Umgebungsvariable {variable} enthält einen Schlüssel: Er wird an {host} gesendet, wenn Sie diese Adresse testen oder speichern.</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/bayes.py" />
            <source>The evidence both proves the disease and excludes it</source>
            <translation>Die Befunde beweisen die Krankheit und schließen sie zugleich aus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>The exact arguments</source>
            <translation>Die genauen Argumente</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>the FHIR library refuses it ({0})</source>
            <translation>die FHIR-Bibliothek lehnt sie ab ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>the file does not give its orientation in the patient</source>
            <translation>die Datei gibt die Ausrichtung im Patienten nicht an</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>The file does not say whether text is burnt into this image.</source>
            <translation>Die Datei sagt nicht, ob Text in dieses Bild eingebrannt ist.</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>The file gives its modality as "other": it may show anything.</source>
            <translation>Die Datei gibt die Modalität „andere“ an: Sie kann alles zeigen.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/true_size.py" />
            <source>The file gives no pixel spacing, so the size of the object is unknown.</source>
            <translation>Die Datei gibt keinen Pixelabstand an, die Größe des Objekts ist also unbekannt.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>the file gives no spacing</source>
            <translation>die Datei gibt keinen Abstand an</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/true_size.py" />
            <source>The file gives the spacing at the detector only. The object is smaller than its shadow there, by an unknown factor.</source>
            <translation>Die Datei gibt nur den Abstand am Detektor an. Das Objekt ist um einen unbekannten Faktor kleiner als sein Schatten dort.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>the file has changed since it was opened</source>
            <translation>die Datei hat sich geändert, seit sie geöffnet wurde</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>the file has no tiles for parts of the slide</source>
            <translation>die Datei hat für Teile des Objektträgers keine Kacheln</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>the file is cut short</source>
            <translation>die Datei ist abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>the file is cut short: it contains {0} of {1} bytes of pixels</source>
            <translation>die Datei ist abgeschnitten: Sie enthält {0} von {1} Bytes der Pixel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>the file is cut short: it contains {0} of {1} bytes of voxels</source>
            <translation>die Datei ist abgeschnitten: Sie enthält {0} von {1} Bytes der Voxel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>the file is cut short: it contains {0} of {1} planes</source>
            <translation>die Datei ist abgeschnitten: Sie enthält {0} von {1} Ebenen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>the file is cut short: only the upper {0} of its {1} rows are in it</source>
            <translation>die Datei ist abgeschnitten: Nur die oberen {0} von {1} Zeilen sind darin</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>the file is cut short: only {0} of its {1} frames are in it</source>
            <translation>die Datei ist abgeschnitten: Nur {0} von {1} Frames sind darin</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveform_values.py" />
            <source>the file is cut short: {0} of {1} bytes of samples</source>
            <translation>die Datei ist abgeschnitten: {0} von {1} Bytes der Abtastwerte</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <location filename="../../app/imaging/guards.py" />
            <source>the file is empty</source>
            <translation>die Datei ist leer</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/futures.py" />
            <source>The file may be damaged; ask for a new export</source>
            <translation>Die Datei ist vielleicht beschädigt; bitten Sie um einen neuen Export</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_file.py" />
            <source>the file meta information is damaged: its elements are read by their tags</source>
            <translation>die Datei-Metainformation ist beschädigt: Ihre Elemente werden nach ihren Tags gelesen</translation>
        </message>
        <message>
            <location filename="../../app/audit/log.py" />
            <source>the file of its key is damaged</source>
            <translation>die Datei mit dem Schlüssel ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>The file says that there IS text burnt into this image.</source>
            <translation>Laut Datei IST in dieses Bild Text eingebrannt.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/session_page.py" />
            <source>The file's name is not that of a session</source>
            <translation>Der Name der Datei ist nicht der einer Sitzung</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/window_hint.py" />
            <source>The file's window ({window}) leaves {share}% of the pixels black or white.</source>
            <translation>Das Fenster der Datei ({window}) lässt {share}% der Pixel schwarz oder weiß.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/window_hint.py" />
            <source>The file's window ({window}) shows {share}% of the pixels in {greys} of 256 greys.</source>
            <translation>Das Fenster der Datei ({window}) zeigt {share}% der Pixel in {greys} von 256 Graustufen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/prior_pair.py" />
            <source>the files name different patients (Patient ID, name, birth date or sex differ): such images are never compared</source>
            <translation>die Dateien nennen verschiedene Patienten (Patienten-ID, Name, Geburtsdatum oder Geschlecht weichen ab): Solche Aufnahmen werden nie verglichen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/expert.py" />
            <source>the files name different patients: there is no progression between them</source>
            <translation>die Dateien nennen verschiedene Patienten: Zwischen ihnen gibt es keinen Verlauf</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>the first of {0} images at each position</source>
            <translation>das erste von {0} Bildern an jeder Position</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>The first {count} are listed: search for others.</source>
            <translation>Die ersten {count} sind aufgeführt: Suchen Sie nach anderen.</translation>
        </message>
        <message>
            <location filename="../../app/views/results/plot_pane.py" />
            <source>The first {shown} of {count} pictures are shown.</source>
            <translation>Die ersten {shown} von {count} Bildern werden gezeigt.</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/thread.py" />
            <source>the folder cannot be made ({0})</source>
            <translation>der Ordner kann nicht angelegt werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>the folder cannot be opened: {strerror}</source>
            <translation>der Ordner kann nicht geöffnet werden: {strerror}</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/probe.py" />
            <source>The folder contains no transformers model: config.json and safetensors are needed.</source>
            <translation>Der Ordner enthält kein Transformers-Modell: Benötigt werden config.json und safetensors.</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>The folder has files of these names</source>
            <translation>Der Ordner enthält Dateien dieser Namen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/dinov3_net.py" />
            <source>the folder holds another model ({0})</source>
            <translation>der Ordner enthält ein anderes Modell ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the gantry was tilted</source>
            <translation>die Gantry war gekippt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the gantry was tilted by {0}°: each slice is shifted against the one before</source>
            <translation>die Gantry war um {0}° gekippt: Jede Schicht ist gegen die vorige verschoben</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>the graphics card</source>
            <translation>der Grafikkarte</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>The graphics card (CUDA)</source>
            <translation>Die Grafikkarte (CUDA)</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>The graphics card where there is one</source>
            <translation>Die Grafikkarte, wo es eine gibt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>the graphics unit</source>
            <translation>der Grafikeinheit</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>The graphics unit (Apple)</source>
            <translation>Die Grafikeinheit (Apple)</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>the gzip file breaks off</source>
            <translation>die gzip-Datei bricht ab</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>the header does not say how many bits a value has: all {0} are used</source>
            <translation>der Header sagt nicht, wie viele Bits ein Wert hat: Alle {0} werden verwendet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>the header does not say whether values can be negative: all are read as positive</source>
            <translation>der Header sagt nicht, ob Werte negativ sein können: Alle werden als positiv gelesen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>The header may be damaged; ask for a new export</source>
            <translation>Der Header ist vielleicht beschädigt; bitten Sie um einen neuen Export</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>The header may be damaged; ask for a smaller export</source>
            <translation>Der Header ist vielleicht beschädigt; bitten Sie um einen kleineren Export</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/pixel_layout.py" />
            <source>the header {0}: low values are shown dark</source>
            <translation>der Header {0}: Niedrige Werte werden dunkel gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>The host learns this computer's network address and what is downloaded; no image or patient data is sent.</source>
            <translation>Der Host erfährt die Netzwerkadresse dieses Computers und was heruntergeladen wird; Bild- oder Patientendaten werden nicht gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>the hub has commit {0}, not the requested {1}</source>
            <translation>der Hub hat den Stand {0}, nicht den verlangten {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>the hub's answer was not understood</source>
            <translation>die Antwort des Hubs war nicht verständlich</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>The image as shown</source>
            <translation>Das Bild wie gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>The image has no patient ID, so its patient's record cannot be told.</source>
            <translation>Das Bild hat keine Patienten-ID, darum ist nicht zu sagen, welche Akte seine ist.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>the image has no pixels (it declares {0} x {1})</source>
            <translation>das Bild hat keine Pixel (angegeben sind {0} x {1})</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/image_suitability.py" />
            <source>the image has {0} x {1} pixels: too few to see anything</source>
            <translation>das Bild hat {0} x {1} Pixel: zu wenige, um etwas zu erkennen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/image_suitability.py" />
            <source>the image is blank: all of its pixels have the same value</source>
            <translation>das Bild ist leer: Alle seine Pixel haben denselben Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/true_size.py" />
            <source>The image is of a microscope: at true size it would be too small to see.</source>
            <translation>Das Bild stammt von einem Mikroskop: In wahrer Größe wäre es zu klein, um etwas zu sehen.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The image of this finding is closed</source>
            <translation>Das Bild dieses Befunds ist geschlossen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/true_size.py" />
            <source>The image was warped into a standard space: its mm are not the patient's.</source>
            <translation>Das Bild wurde in einen Standardraum verformt: Seine mm sind nicht die des Patienten.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>the images are shifted, and a mask is made of pixels</source>
            <translation>die Bilder sind verschoben, und eine Maske besteht aus Pixeln</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>the images differ in size and are not parallel in one frame of reference</source>
            <translation>die Bilder sind verschieden groß und liegen nicht parallel in einem gemeinsamen Bezugssystem</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>the images do not lie in parallel planes</source>
            <translation>die Bilder liegen nicht in parallelen Ebenen</translation>
        </message>
        <message>
            <location filename="../../app/workspace/editing.py" />
            <source>the images have other pixels, and a mask is made of pixels</source>
            <translation>die Bilder haben andere Pixel, und eine Maske besteht aus Pixeln</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>the index of records cannot be written</source>
            <translation>der Index der Akten kann nicht geschrieben werden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>The installed and loaded models, licences and limits; install, verify, remove.</source>
            <translation>Installierte und geladene Modelle, Lizenzen und Grenzen; installieren, prüfen, entfernen.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>the kept report cannot be read. {0}</source>
            <translation>der gespeicherte Bericht ist nicht lesbar. {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>The key contains characters that no key has: copy it again.</source>
            <translation>Der Schlüssel enthält Zeichen, die kein Schlüssel hat: Kopieren Sie ihn noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>The key for {host} is found in {where}, and sent to no other host. Leave the field empty to go on using it.</source>
            <translation>Der Schlüssel für {host} wurde gefunden ({where}) und wird an keinen anderen Host gesendet. Lassen Sie das Feld leer, um ihn weiter zu verwenden.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>The key for {host} is in {where}. It is sent to no other host.</source>
            <translation>Der Schlüssel für {host} ist vorhanden ({where}). Er wird an keinen anderen Host gesendet.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/object_entries.py" />
            <source>the key images were marked on other versions of the images, with other pixels</source>
            <translation>die Schlüsselbilder wurden auf anderen Fassungen der Bilder mit anderen Pixeln markiert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>The key was typed before there was a host and was removed: type it again for this address.</source>
            <translation>Der Schlüssel wurde eingegeben, bevor es einen Host gab, und wurde entfernt: Geben Sie ihn für diese Adresse erneut ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>The key was typed for {host} and was removed: type it again for this address.</source>
            <translation>Der Schlüssel wurde für {host} eingegeben und wurde entfernt: Geben Sie ihn für diese Adresse erneut ein.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>The keyring could not be read.</source>
            <translation>Der Schlüsselbund konnte nicht gelesen werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>The keys could not be saved: they hold until Sightline is closed. Ask for the right to write into the settings folder.</source>
            <translation>Die Tasten konnten nicht gespeichert werden: Sie gelten, bis Sightline geschlossen wird. Bitten Sie um das Schreibrecht für den Einstellungsordner.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The language model runs on this computer: nothing leaves it. A tool that would send data asks you first.</source>
            <translation>Das Sprachmodell läuft auf diesem Computer: Nichts verlässt ihn. Ein Werkzeug, das Daten senden würde, fragt Sie vorher.</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/model_turn.py" />
            <source>the language model was not asked: {0}</source>
            <translation>das Sprachmodell wurde nicht gefragt: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>The language model words the report…</source>
            <translation>Das Sprachmodell formuliert den Bericht…</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The last session</source>
            <translation>Die letzte Sitzung</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>the layout cannot be kept: {error}</source>
            <translation>das Layout kann nicht behalten werden: {error}</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>The layout of the window</source>
            <translation>das Layout des Fensters</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>The left and right arrow keys change its length</source>
            <translation>Die Pfeiltasten links und rechts ändern seine Länge</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The limit of cost for one question was reached.</source>
            <translation>Die Kostengrenze für eine Frage wurde erreicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The limit of steps for one question was reached.</source>
            <translation>Die Grenze der Schritte für eine Frage wurde erreicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The limit of tokens for one question was reached.</source>
            <translation>Die Grenze der Tokens für eine Frage wurde erreicht.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The limit of tool calls for one question was reached.</source>
            <translation>Die Grenze der Werkzeugaufrufe für eine Frage wurde erreicht.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>the line has over {0} MiB; what follows is not read</source>
            <translation>die Zeile hat über {0} MiB; was folgt, wird nicht gelesen</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>The list names accepted findings that the text leaves out, numbers that no finding has, and the like.</source>
            <translation>Die Liste nennt angenommene Befunde, die im Text fehlen, Zahlen, die kein Befund hat, und Ähnliches.</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>The list of recent openings</source>
            <translation>die Liste der zuletzt geöffneten</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>The log is NOT as it was written. {problem}.</source>
            <translation>Das Protokoll ist NICHT so, wie es geschrieben wurde. {problem}.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>The longest conversation that it can read at once.</source>
            <translation>Das längste Gespräch, das es auf einmal lesen kann.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>The mark is locked</source>
            <translation>Die Markierung ist gesperrt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>the marked boxes were blanked in its pixels, and it says that no text is burnt in: look at it</source>
            <translation>die markierten Kästen wurden in den Pixeln überdeckt, und sie gibt an, dass kein Text eingebrannt ist: sehen Sie sie an</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>The marks are pasted at the same place of each slice and measured there. Slices that have them already are left out.</source>
            <translation>Die Markierungen werden an derselben Stelle jeder Schicht eingefügt und dort gemessen. Schichten, die sie schon haben, werden ausgelassen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>the masks are empty</source>
            <translation>die Masken sind leer</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>the masks lie on images of several series or sizes</source>
            <translation>die Masken liegen auf Bildern mehrerer Serien oder Größen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>the masks lie on several multi-frame images</source>
            <translation>die Masken liegen auf mehreren Multiframe-Bildern</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/server_tools.py" />
            <source>the MCP server {0} is set up, but its tools are not allowed yet</source>
            <translation>Der MCP-Server {0} ist eingerichtet, aber seine Werkzeuge sind noch nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/generator.py" />
            <source>the model drew an empty image</source>
            <translation>das Modell hat ein leeres Bild gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/segmentation.py" />
            <source>the model found none of these on this image: {0}</source>
            <translation>das Modell fand nichts davon auf diesem Bild: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>the model is asked once more</source>
            <translation>das Modell wird noch einmal gefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>The model runs on this computer; nothing leaves it.</source>
            <translation>Das Modell läuft auf diesem Computer; nichts verlässt ihn.</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/serving.py" />
            <source>the model's files were replaced or removed while it was being loaded</source>
            <translation>die Dateien des Modells wurden ersetzt oder entfernt, während es geladen wurde</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/generator.py" />
            <source>the model's own safety checker rejected the image and blacked it out</source>
            <translation>die Sicherheitsprüfung des Modells hat das Bild abgelehnt und geschwärzt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/answer.py" />
            <source>The model's thinking</source>
            <translation>Gedankengang des Modells</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>The models folder cannot be read</source>
            <translation>Der Modellordner ist nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/movie_file.py" />
            <source>the movie cannot be written ({reason})</source>
            <translation>der Film kann nicht geschrieben werden ({reason})</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>the name differs, and no birth date agrees</source>
            <translation>der Name ist verschieden, und kein Geburtsdatum stimmt überein</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>The names and descriptions of the tools</source>
            <translation>Die Namen und Beschreibungen der Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the next page is on another host, which is not asked: the record has gaps</source>
            <translation>die nächste Seite liegt auf einem anderen Server, der nicht gefragt wird: die Akte hat Lücken</translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <source>the note seems to be about a patient: “{0}” is what is left</source>
            <translation>die Notiz scheint einen Patienten zu betreffen: „{0}“ bleibt übrig</translation>
        </message>
        <message>
            <location filename="../../app/tools/notes/remember.py" />
            <source>the notes cannot be written ({0})</source>
            <translation>die Notizen können nicht geschrieben werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>The notes cannot be written: {reason}</source>
            <translation>Die Notizen können nicht geschrieben werden: {reason}</translation>
        </message>
        <message>
            <location filename="../../app/views/results/row_links.py" />
            <source>The objects are no longer on the image: run the tool again to link them.</source>
            <translation>Die Objekte sind nicht mehr auf dem Bild: Führen Sie das Werkzeug erneut aus, um sie zu verknüpfen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>the OME description gives no pixel size</source>
            <translation>die OME-Beschreibung gibt keine Pixelgröße an</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_metadata.py" />
            <source>the OME description is for an image of another size</source>
            <translation>die OME-Beschreibung gilt für ein Bild anderer Größe</translation>
        </message>
        <message>
            <location filename="../../app/agent/request.py" />
            <source>the output folder cannot be made ({0})</source>
            <translation>der Ausgabeordner kann nicht angelegt werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>The patient ID agrees, but another authority has given it.</source>
            <translation>Die Patienten-ID stimmt überein, aber eine andere Stelle hat sie vergeben.</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>The patient ID agrees.</source>
            <translation>Die Patienten-ID stimmt überein.</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>The patient ID agrees; name and birth date could not be compared.</source>
            <translation>Die Patienten-ID stimmt überein; Name und Geburtsdatum ließen sich nicht vergleichen.</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>The patient ID or study agrees, but {0}.</source>
            <translation>Patienten-ID oder Studie stimmt überein, aber {0}.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>The patient's id, number or name and the token are sent to this host only.</source>
            <translation>Kennung, Nummer oder Name des Patienten und das Token gehen nur an diesen Server.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/pdf_file.py" />
            <source>the PDF document has {0} pages</source>
            <translation>das PDF-Dokument hat {0} Seiten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/pdf_file.py" />
            <source>the PDF document is damaged and cannot be shown</source>
            <translation>das PDF-Dokument ist beschädigt und kann nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/pdf_file.py" />
            <source>the PDF document is locked with a password</source>
            <translation>das PDF-Dokument ist mit einem Passwort gesperrt</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/pane.py" />
            <source>the picture cannot be read</source>
            <translation>das Bild ist nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/startup_actions.py" />
            <source>the picture cannot be written ({0})</source>
            <translation>das Bild kann nicht geschrieben werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>the picture file is too large to be opened safely</source>
            <translation>die Bilddatei ist zu groß, um sicher geöffnet zu werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>the picture has {0} frames, not {1}</source>
            <translation>das Bild hat {0} Frames, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>the picture is cut short</source>
            <translation>das Bild ist abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>the picture is damaged</source>
            <translation>das Bild ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/picture_file.py" />
            <source>the picture is damaged: it has too many scans</source>
            <translation>das Bild ist beschädigt: Es hat zu viele Durchläufe</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>The picture is on the clipboard</source>
            <translation>Das Bild ist in der Zwischenablage</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>The picture; scroll with the arrow keys</source>
            <translation>Das Bild; mit den Pfeiltasten blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>The pictures are being read…</source>
            <translation>Die Bilder werden gelesen…</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/place_commands.py" />
            <source>the pixel that you clicked has no value</source>
            <translation>das angeklickte Pixel hat keinen Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>the place of this image in the patient is not known</source>
            <translation>die Lage dieses Bildes im Patienten ist nicht bekannt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segment_index.py" />
            <source>the places of {0} tiles in pixels and in mm disagree: drawn by their pixels</source>
            <translation>die Orte von {0} Kacheln in Pixeln und in mm widersprechen sich: nach den Pixeln gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>The plan waits for you.</source>
            <translation>Der Plan wartet auf Sie.</translation>
        </message>
        <message>
            <location filename="../../app/tools/plots.py" />
            <source>the plot cannot be read</source>
            <translation>das Diagramm kann nicht gelesen werden</translation>
        </message>
        <message>
            <location filename="../../app/tools/plots.py" />
            <source>the plot names a table elsewhere</source>
            <translation>das Diagramm nennt eine Tabelle an einem anderen Ort</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_data.py" />
            <source>the plot's table has no column {0}</source>
            <translation>die Tabelle des Diagramms hat keine Spalte {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>the pretrained model StarDist {0} is not there</source>
            <translation>das vortrainierte Modell StarDist {0} fehlt</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>the pretrained model {0} cannot be loaded ({1})</source>
            <translation>das vortrainierte Modell {0} kann nicht geladen werden ({1})</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_files.py" />
            <source>the process that draws plots ended</source>
            <translation>der Prozess, der Diagramme zeichnet, wurde beendet</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>The processor</source>
            <translation>Der Prozessor</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>the processor</source>
            <translation>dem Prozessor</translation>
        </message>
        <message>
            <location filename="../../app/wiring/program.py" />
            <source>the profile names a tool that there is not: {0}</source>
            <translation>das Profil nennt ein Werkzeug, das es nicht gibt: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>The program code with its weights was changed since you allowed it. It is not run until you allow it again.</source>
            <translation>Der Programmcode bei den Gewichten wurde geändert, seit Sie ihn erlaubt haben. Er wird nicht ausgeführt, bis Sie ihn erneut erlauben.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>the program that comes with this model does not fit its weights: {0} of its parameters are in no file</source>
            <translation>das Programm, das mit diesem Modell kommt, passt nicht zu seinen Gewichten: {0} seiner Parameter sind in keiner Datei</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>the program that comes with this model does not run correctly with the installed version of transformers: {0} of its tables would hold chance values</source>
            <translation>das Programm, das mit diesem Modell kommt, läuft mit der installierten Version von transformers nicht richtig: {0} seiner Tabellen enthielten Zufallswerte</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>the program that comes with this model does not run here: {0}: {1}</source>
            <translation>das Programm, das mit diesem Modell kommt, läuft hier nicht: {0}: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>the program that comes with this model has changed since it was allowed, and is not run</source>
            <translation>das Programm, das mit diesem Modell kommt, hat sich geändert, seit es erlaubt wurde, und wird nicht ausgeführt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>The program that would run</source>
            <translation>Das Programm, das laufen würde</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>The question is waiting for your answer.</source>
            <translation>Die Frage wartet auf Ihre Antwort.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The question was about the study “{study}”.</source>
            <translation>Die Frage betraf die Untersuchung „{study}“.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>The record is open</source>
            <translation>Die Akte ist geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>The record lists this study.</source>
            <translation>Die Akte nennt diese Studie.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>The record of the shown study's patient.</source>
            <translation>Die Akte des Patienten der gezeigten Studie.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>The record's entries</source>
            <translation>Die Einträge der Akte</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>The report becomes a draft again; its addenda are removed. Files that were exported stay as they are.</source>
            <translation>Der Bericht wird wieder zum Entwurf; seine Nachträge werden entfernt. Exportierte Dateien bleiben, wie sie sind.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>the report cannot be kept ({0})</source>
            <translation>der Bericht kann nicht gespeichert werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/report.py" />
            <source>the report generator wrote no usable text: {0}</source>
            <translation>der Befundgenerator schrieb keinen brauchbaren Text: {0}</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>the report has changed since, or not each sentence came back</source>
            <translation>der Bericht wurde inzwischen geändert, oder nicht jeder Satz kam zurück</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_findings.py" />
            <source>the report holds no outline of it; a mask has a file of its own</source>
            <translation>der Bericht enthält keinen Umriss davon; eine Maske hat eine eigene Datei</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>the report tells nothing yet</source>
            <translation>der Bericht sagt noch nichts aus</translation>
        </message>
        <message>
            <location filename="../../app/settings.py" />
            <source>The rule for "{0}" is unusable: it counts as "ask".</source>
            <translation>Die Regel für „{0}“ ist unbrauchbar: Sie gilt als „fragen“.</translation>
        </message>
        <message>
            <location filename="../../app/settings.py" />
            <source>The rules for {0} are unusable: no tool may {1}.</source>
            <translation>Die Regeln für {0} sind unbrauchbar: Kein Werkzeug darf {1}.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The run was stopped by a limit ({stopped_by}).</source>
            <translation>Der Lauf wurde durch eine Grenze gestoppt ({stopped_by}).</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>The same tool with the same arguments is not asked again</source>
            <translation>Nach demselben Werkzeug mit denselben Argumenten wird nicht mehr gefragt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>the same, from any panel</source>
            <translation>dasselbe, aus jedem Bereich</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/generated_analysis.py" />
            <source>the sandbox could not be started</source>
            <translation>die Sandbox konnte nicht gestartet werden</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>The saved marks could not be read</source>
            <translation>Die gespeicherten Markierungen konnten nicht gelesen werden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>The section that a language model is given. Fixed rules need none.</source>
            <translation>Der Abschnitt, den ein Sprachmodell bekommt. Feste Regeln brauchen keinen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>the sentence is empty</source>
            <translation>der Satz ist leer</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>The series of viewport {number}</source>
            <translation>Die Serie des Viewports {number}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>the series or image differs</source>
            <translation>Serie oder Bild ist anders</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>The series: %n images</source>
            <extracomment>Singular: The series: %n image</extracomment>
            <translation>
                <numerusform>Die Serie: %n Bild</numerusform>
                <numerusform>Die Serie: %n Bilder</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server asks for a valid token (401)</source>
            <translation>der Server verlangt ein gültiges Token (401)</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server cannot be reached ({0})</source>
            <translation>der Server ist nicht zu erreichen ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server did not answer in time</source>
            <translation>der Server hat nicht rechtzeitig geantwortet</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server does not allow it (403)</source>
            <translation>der Server erlaubt es nicht (403)</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server does not give the text of a note</source>
            <translation>der Server gibt den Text einer Notiz nicht heraus</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server failed ({0})</source>
            <translation>der Server hat versagt ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server gives no {0}</source>
            <translation>der Server gibt kein {0}</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server is too busy ({0})</source>
            <translation>der Server ist überlastet ({0})</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server names a page twice: the record has gaps</source>
            <translation>der Server nennt eine Seite zweimal: die Akte hat Lücken</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_reading.py" />
            <source>the server reports: {0}</source>
            <translation>der Server meldet: {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>the server sends more than the published file</source>
            <translation>der Server sendet mehr als die veröffentlichte Datei</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>the server's answer is too long</source>
            <translation>die Antwort des Servers ist zu lang</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the server's certificate is not trusted</source>
            <translation>dem Zertifikat des Servers wird nicht vertraut</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/session_page.py" />
            <source>The session</source>
            <translation>Die Sitzung</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>The settings</source>
            <translation>die Einstellungen</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The settings could not be saved</source>
            <translation>Die Einstellungen konnten nicht gespeichert werden</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>The settings of the display</source>
            <translation>die Einstellungen der Anzeige</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>the sex differs ({0} in the image, {1} in the record)</source>
            <translation>das Geschlecht ist verschieden ({0} im Bild, {1} in der Akte)</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>The shipped one is used again.</source>
            <translation>Das mitgelieferte wird wieder benutzt.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>The shipped tables are used instead.</source>
            <translation>Stattdessen gelten die mitgelieferten Tabellen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>the shown image does not say how it lies in the patient</source>
            <translation>das gezeigte Bild sagt nicht, wie es im Patienten liegt</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>The shown series has a single slice</source>
            <translation>Die gezeigte Serie hat eine einzige Schicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reports/checks.py" />
            <source>the side differs</source>
            <translation>die Seite ist anders</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the slice distance changes from {0} to {1} mm</source>
            <translation>der Schichtabstand wechselt von {0} auf {1} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the slice distance changes from {0} to {1} mm after slice {2}</source>
            <translation>der Schichtabstand wechselt von {0} auf {1} mm nach Schicht {2}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the slice distance varies between {0} and {1} mm</source>
            <translation>der Schichtabstand schwankt zwischen {0} und {1} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the slices are sheared</source>
            <translation>die Schichten sind geschert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the slices are sheared by {0}°: each slice is shifted against the one before</source>
            <translation>die Schichten sind um {0}° geschert: Jede Schicht ist gegen die vorige verschoben</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>the slices are shifted against each other by differing amounts</source>
            <translation>die Schichten sind um verschiedene Beträge gegeneinander verschoben</translation>
        </message>
        <message>
            <location filename="../../app/tools/images.py" />
            <source>the slices of {0} cannot be read together here</source>
            <translation>die Schichten von {0} können hier nicht zusammen gelesen werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>the standard space {0}</source>
            <translation>der Standardraum {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>The study is not open</source>
            <translation>Die Studie ist nicht geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/presentation_states.py" />
            <source>the subtraction of its mask</source>
            <translation>die Subtraktion der Maske</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/fields.py" />
            <source>The system keyring did not delete the key: delete it there.</source>
            <translation>Der Schlüsselbund des Systems hat den Schlüssel nicht gelöscht: Löschen Sie ihn dort.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/movie_file.py" />
            <source>the system lacks a library that movies need (on Debian: libpulse0)</source>
            <translation>dem System fehlt eine Bibliothek für Filme (unter Debian: libpulse0)</translation>
        </message>
        <message>
            <location filename="../../app/tools/tables.py" />
            <source>the table cannot be read ({0})</source>
            <translation>die Tabelle kann nicht gelesen werden ({0})</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>The tables are being read…</source>
            <translation>Die Tabellen werden gelesen…</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>the terms of {0} are not accepted</source>
            <translation>die Bedingungen von {0} sind nicht akzeptiert</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>The text agrees with the findings</source>
            <translation>Der Text stimmt mit den Befunden überein</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_json.py" />
            <source>the text breaks off</source>
            <translation>der Text bricht ab</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>The texts below are the server's own. Allow them only if you trust whoever runs it.</source>
            <translation>Die Texte unten stammen vom Server. Erlauben Sie sie nur, wenn Sie seinem Betreiber trauen.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>the TIFF file contains no image</source>
            <translation>die TIFF-Datei enthält kein Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_file.py" />
            <source>the TIFF file is damaged or cut short</source>
            <translation>die TIFF-Datei ist beschädigt oder abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/whole_slide.py" />
            <source>the tile at column {0}, row {1} of {2}</source>
            <translation>die Kachel in Spalte {0}, Zeile {1} von {2}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>The time limit for one question was reached.</source>
            <translation>Die Zeitgrenze für eine Frage wurde erreicht.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>the token is not sent over http, where others can read it</source>
            <translation>das Token wird nicht über http gesendet, wo andere es lesen können</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>the tool in hand; window: right widens, down raises</source>
            <translation>das gewählte Werkzeug; Fenster: rechts breiter, unten höher</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>The tool is refused, whatever its arguments, until Sightline is closed</source>
            <translation>Das Werkzeug wird abgelehnt, gleich mit welchen Argumenten, bis Sightline geschlossen wird</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/disagreement.py" />
            <source>The tools disagree on {what}</source>
            <translation>Die Werkzeuge sind sich nicht einig: {what}</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>the tools of {0} are not allowed any more; nothing was sent</source>
            <translation>Die Werkzeuge von {0} sind nicht mehr erlaubt; nichts wurde gesendet</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>The tools' results, without names, ids, dates, institutions and file paths</source>
            <translation>Die Ergebnisse der Werkzeuge, ohne Namen, Kennungen, Daten, Einrichtungen und Dateipfade</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>The true size of this image is not known</source>
            <translation>Die wahre Größe dieses Bildes ist nicht bekannt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>the ultrasound regions do not fit the image: it was scaled, mm are unknown</source>
            <translation>die Ultraschallregionen passen nicht zum Bild: Es wurde skaliert, mm sind unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/model_turn.py" />
            <source>the user does not allow the patient's record to be sent</source>
            <translation>der Benutzer erlaubt nicht, dass die Patientenakte gesendet wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/writing.py" />
            <source>the value of {0} in its header is not valid</source>
            <translation>der Wert von {0} in seinem Kopf ist ungültig</translation>
        </message>
        <message>
            <location filename="../../app/tools/kept_values.py" />
            <source>the values kept for a conversation exceed 1 MiB together</source>
            <translation>die für eine Unterhaltung gemerkten Werte sind zusammen größer als 1 MiB</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_header.py" />
            <source>the volume has no voxels</source>
            <translation>das Volumen hat keine Voxel</translation>
        </message>
        <message>
            <location filename="../../app/tools/images.py" />
            <source>the volume of {0} would take {1} GB of memory, and at most {2} GB are given to a tool</source>
            <translation>das Volumen von {0} bräuchte {1} GB Speicher, und ein Werkzeug erhält höchstens {2} GB</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/waveform_values.py" />
            <source>the waveform is too long to be shown safely</source>
            <translation>die Wellenform ist zu lang, um sicher gezeigt zu werden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>The weights come with program code of their publisher ({listed}). It can do whatever you can on this computer. Allow it only if you trust the publisher or have read the code.</source>
            <translation>Die Gewichte kommen mit Programmcode ihres Herausgebers ({listed}). Er kann auf diesem Computer alles, was Sie können. Erlauben Sie ihn nur, wenn Sie dem Herausgeber vertrauen oder den Code gelesen haben.</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>The whole study</source>
            <translation>Die ganze Studie</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>The width must be above 0, and both numbers below 100 billion.</source>
            <translation>Die Breite muss über 0 sein, und beide Zahlen unter 100 Milliarden.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>The width must be above 0, and both numbers below a billion.</source>
            <translation>Die Breite muss über 0 sein, und beide Zahlen unter einer Milliarde.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>the window was closed</source>
            <translation>das Fenster wurde geschlossen</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>The words beside each picture</source>
            <translation>Die Worte neben jedem Bild</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>the zip archive contains too many files</source>
            <translation>das Zip-Archiv enthält zu viele Dateien</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>the zip archive declares more than it contains</source>
            <translation>das Zip-Archiv gibt mehr an, als es enthält</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>the zip archive is damaged or cut short</source>
            <translation>das Zip-Archiv ist beschädigt oder abgeschnitten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/workers.py" />
            <source>the {0} process {1}</source>
            <translation>der Prozess {0} {1}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/plane_switch.py" />
            <source>The {plane} plane cannot be shown</source>
            <translation>Die Ebene „{plane}“ kann nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Their models</source>
            <translation>Ihre Modelle</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Theme</source>
            <translation>Farben</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>there are no images in this archive</source>
            <translation>in diesem Archiv sind keine Bilder</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>there are no images in this folder</source>
            <translation>in diesem Ordner sind keine Bilder</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>there are too many pages: the record has gaps</source>
            <translation>es sind zu viele Seiten: die Akte hat Lücken</translation>
        </message>
        <message>
            <location filename="../../app/agent/profiles.py" />
            <location filename="../../app/tools/models/store.py" />
            <location filename="../../app/wiring/program.py" />
            <source>There are: {0}.</source>
            <translation>Es gibt: {0}.</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/protocol.py" />
            <source>there is no conversation to which a diagnosis session belongs</source>
            <translation>es gibt keine Unterhaltung, zu der eine Diagnosesitzung gehört</translation>
        </message>
        <message>
            <location filename="../../app/wiring/window_builder.py" />
            <source>there is no display to open a window on</source>
            <translation>es gibt keine Anzeige, auf der ein Fenster geöffnet werden kann</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/movie_file.py" />
            <source>there is no encoder for MP4 movies</source>
            <translation>es gibt keinen Kodierer für MP4-Filme</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>there is no FHIR server at this address (404)</source>
            <translation>unter dieser Adresse ist kein FHIR-Server (404)</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_targets.py" />
            <source>there is no frame {0} to draw on</source>
            <translation>es gibt kein Frame {0}, auf das gezeichnet werden könnte</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/providers.py" />
            <source>there is no language model {0}</source>
            <translation>es gibt kein Sprachmodell {0}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sr.py" />
            <source>there is no mark or accepted finding to report</source>
            <translation>es gibt keine Markierung und keinen angenommenen Befund zu berichten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>there is no mask to write</source>
            <translation>es gibt keine Maske zu schreiben</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>there is no model of that name in this pack</source>
            <translation>in diesem Paket gibt es kein Modell dieses Namens</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>there is no name to sign with</source>
            <translation>es fehlt ein Name zum Unterschreiben</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_opening.py" />
            <source>There is no patient's record in it</source>
            <translation>Es ist keine Patientenakte darin</translation>
        </message>
        <message>
            <location filename="../../app/agent/profiles.py" />
            <source>there is no profile {0}</source>
            <translation>es gibt kein Profil {0}</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/store.py" />
            <source>there is no question {0} to branch from</source>
            <translation>es gibt keine Frage {0}, von der verzweigt werden könnte</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_files.py" />
            <source>There is no report yet</source>
            <translation>Es gibt noch keinen Bericht</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/store.py" />
            <source>there is no such conversation</source>
            <translation>dieses Gespräch gibt es nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>there is no such file</source>
            <translation>eine solche Datei gibt es nicht</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>there is no such file in the archive</source>
            <translation>eine solche Datei gibt es im Archiv nicht</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>there is no such file or folder</source>
            <translation>eine solche Datei oder einen solchen Ordner gibt es nicht</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>there is no such folder</source>
            <translation>einen solchen Ordner gibt es nicht</translation>
        </message>
        <message>
            <location filename="../../app/wiring/program.py" />
            <source>there is no tool pack {0}</source>
            <translation>es gibt kein Werkzeugpaket {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>there is no window to work here</source>
            <translation>hier gibt es kein Fenster</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/cuda_pack.py" />
            <source>there is not enough space: it takes {0} GB</source>
            <translation>der Platz reicht nicht: es braucht {0} GB</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>there is not enough space: {0} GB are needed, {1} GB are free</source>
            <translation>der Platz reicht nicht: {0} GB werden gebraucht, {1} GB sind frei</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>There is nothing in the log yet, so there is nothing to check.</source>
            <translation>Das Protokoll enthält noch nichts, also gibt es nichts zu prüfen.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>There is nothing to do.</source>
            <translation>Es gibt nichts zu tun.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>There is nothing to download.</source>
            <translation>Es gibt nichts herunterzuladen.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>There is nothing to verify.</source>
            <translation>Es gibt nichts zu prüfen.</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>There is nothing to write: no such mark or finding in this study.</source>
            <translation>Es gibt nichts zu schreiben: keine solche Markierung, kein solcher Befund in dieser Studie.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>there is only one image here</source>
            <translation>hier gibt es nur ein Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>there is only one image here, nothing to play</source>
            <translation>hier gibt es nur ein Bild, nichts abzuspielen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/futures.py" />
            <source>there is too little free memory to show it</source>
            <translation>es ist zu wenig freier Arbeitsspeicher da, um es zu zeigen</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/checkpoint.py" />
            <source>these are weights of another model than {0}</source>
            <translation>dies sind Gewichte eines anderen Modells als {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_preprocessor.py" />
            <source>these images together are larger than 2 GB</source>
            <translation>diese Bilder sind zusammen größer als 2 GB</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>These pictures may show who the patient is. Send them to {0}?</source>
            <translation>Diese Bilder könnten zeigen, wer der Patient ist. An {0} senden?</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>These pixels are overwritten in the copy, which is stored without compression and says that no text is burnt in.</source>
            <translation>Diese Pixel werden in der Kopie überschrieben, die ohne Kompression gespeichert wird und angibt, dass kein Text eingebrannt ist.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>These rules are kept outside the language model: it can neither see nor change them.</source>
            <translation>Diese Regeln liegen außerhalb des Sprachmodells: Es kann sie weder sehen noch ändern.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>these sections belong to a volume that is no longer open</source>
            <translation>diese Schnitte gehören zu einem Volumen, das nicht mehr geöffnet ist</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>These sentences rest on no finding:</source>
            <translation>Diese Sätze beruhen auf keinem Befund:</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>They are not saved.</source>
            <translation>Sie sind nicht gespeichert.</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>They are off. Look at them anew under {0}.</source>
            <translation>Sie sind aus. Sehen Sie sie unter {0} neu an.</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>They are what the viewer shows, as PNG without the file's attributes. Text that is burnt into an image (a name, an id, a date) cannot be removed and would be sent with it: look at the pictures before you answer. With no, text alone is sent. Your answer holds for these images in this conversation until Sightline is closed; about others you are asked.</source>
            <translation>Es ist das, was der Betrachter zeigt, als PNG ohne die Attribute der Datei. In ein Bild eingebrannter Text (ein Name, eine Kennung, ein Datum) kann nicht entfernt werden und würde mitgesendet: Sehen Sie die Bilder an, bevor Sie antworten. Bei Nein wird nur Text gesendet. Ihre Antwort gilt für diese Bilder in diesem Gespräch, bis Sightline geschlossen wird; nach anderen werden Sie gefragt.</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>They are what the viewer shows, as PNG without the file's attributes. Text that is burnt into an image (a name, an id, a date) cannot be removed and would be sent with it: look at the pictures before you answer. You are asked once more about those that say why. With no, text alone is sent. Your answer holds for these images in this conversation until Sightline is closed; about others you are asked.</source>
            <translation>Es ist das, was der Betrachter zeigt, als PNG ohne die Attribute der Datei. In ein Bild eingebrannter Text (ein Name, eine Kennung, ein Datum) kann nicht entfernt werden und würde mitgesendet: Sehen Sie die Bilder an, bevor Sie antworten. Nach denen, bei denen ein Grund steht, werden Sie noch einmal gefragt. Bei Nein wird nur Text gesendet. Ihre Antwort gilt für diese Bilder in diesem Gespräch, bis Sightline geschlossen wird; nach anderen werden Sie gefragt.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>They cannot be brought back, and what was done before cannot be undone any more.</source>
            <translation>Sie lassen sich nicht zurückholen, und was davor getan wurde, lässt sich nicht mehr rückgängig machen.</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>They cannot be saved ({reason}): they hold until Sightline is closed.</source>
            <translation>Sie können nicht gespeichert werden ({reason}): Sie gelten, bis Sightline geschlossen wird.</translation>
        </message>
        <message>
            <location filename="../../app/wiring/assistant.py" />
            <source>They hold until Sightline is closed. Make room on the disk, or ask this computer's administrator for the right to write into the settings folder.</source>
            <translation>Sie gelten, bis Sightline geschlossen wird. Schaffen Sie Platz auf dem Datenträger, oder bitten Sie den Administrator dieses Computers um das Schreibrecht für den Einstellungsordner.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>They run on</source>
            <translation>Sie laufen auf</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>They stay in the file, and a newer version of Sightline may read them.</source>
            <translation>Sie bleiben in der Datei; eine neuere Version von Sightline kann sie vielleicht lesen.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/answer.py" />
            <source>Thinking</source>
            <translation>Gedankengang</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>Thinking…</source>
            <translation>Denkt nach…</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>this archive cannot be read: it is damaged or not an archive</source>
            <translation>dieses Archiv ist nicht lesbar: Es ist beschädigt oder kein Archiv</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>This cannot be undone.</source>
            <translation>Das kann nicht rückgängig gemacht werden.</translation>
        </message>
        <message>
            <location filename="../../app/errors.py" />
            <source>This computer has too little free memory for it</source>
            <translation>Dieser Computer hat dafür zu wenig freien Arbeitsspeicher</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/copying.py" />
            <source>this computer has too little free memory for it</source>
            <translation>dieser Rechner hat zu wenig freien Speicher dafür</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>this computer's policy</source>
            <translation>Richtlinie dieses Computers</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>This conversation is kept in memory only and cannot be branched.</source>
            <translation>Dieses Gespräch liegt nur im Arbeitsspeicher und kann nicht verzweigt werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>This conversation is kept in memory only and cannot be exported.</source>
            <translation>Dieses Gespräch liegt nur im Arbeitsspeicher und kann nicht exportiert werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>This conversation is still being answered, or is kept in memory only.</source>
            <translation>Dieses Gespräch wird noch beantwortet oder liegt nur im Arbeitsspeicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>This conversation will be deleted for good.</source>
            <translation>Dieses Gespräch wird endgültig gelöscht.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/published_programs.py" />
            <source>this copy of the model needs the program in its folder, and running it has not been allowed</source>
            <translation>diese Kopie des Modells braucht das Programm in ihrem Ordner, und seine Ausführung wurde nicht erlaubt</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>this could be one of several models: {0}</source>
            <translation>dies könnte eines von mehreren Modellen sein: {0}</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>This file has no DICOM header, so nothing says whether text is burnt into it.</source>
            <translation>Diese Datei hat keinen DICOM-Header, also sagt nichts, ob Text eingebrannt ist.</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/roentgen.py" />
            <source>this folder contains no Stable Diffusion pipeline that can be loaded</source>
            <translation>dieser Ordner enthält keine Stable-Diffusion-Pipeline, die geladen werden kann</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <source>this folder is not LLaVA-Med v1.5, or is damaged</source>
            <translation>dieser Ordner ist nicht LLaVA-Med v1.5 oder ist beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/views/notices.py" />
            <source>This image cannot be shown</source>
            <translation>Dieses Bild kann nicht gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>This image cannot be shown at its true size</source>
            <translation>Dieses Bild kann nicht in wahrer Größe gezeigt werden</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>This image has colours of its own, and no window</source>
            <translation>Dieses Bild hat eigene Farben und kein Fenster</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>this image has no grey values to window</source>
            <translation>dieses Bild hat keine Grauwerte zum Fenstern</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/report_document.py" />
            <source>This image is not open</source>
            <translation>Dieses Bild ist nicht geöffnet</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>This is a photograph: it may show the patient's face.</source>
            <translation>Dies ist ein Foto: Es könnte das Gesicht des Patienten zeigen.</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>This is a screen capture or scan, which may show anything that was on it.</source>
            <translation>Dies ist ein Bildschirmfoto oder Scan, der alles zeigen kann, was darauf war.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>this is a section, on which the assistant does not draw</source>
            <translation>das ist ein Schnitt; darauf zeichnet der Assistent nicht</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>This is a {kind}.</source>
            <translation>Art des Objekts: {kind}.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>this is no address of a FHIR server</source>
            <translation>dies ist keine Adresse eines FHIR-Servers</translation>
        </message>
        <message>
            <location filename="../../app/agent/profiles.py" />
            <source>this is no agent profile: {0}</source>
            <translation>das ist kein Agentenprofil: {0}</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/probe.py" />
            <source>This is not a GGUF file.</source>
            <translation>Dies ist keine GGUF-Datei.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>this is not a model that Sightline knows</source>
            <translation>dies ist kein Modell, das Sightline kennt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thumbnails.py" />
            <source>this is not a PNG or JPEG picture</source>
            <translation>dies ist kein PNG- oder JPEG-Bild</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <source>this is not a safetensors file, or it is cut off or damaged</source>
            <translation>dies ist keine safetensors-Datei, oder sie ist abgeschnitten oder beschädigt</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>this is not the published file: {0}</source>
            <translation>dies ist nicht die veröffentlichte Datei: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>This model can be used.</source>
            <translation>Dieses Modell kann verwendet werden.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>this model pack has format {0}, which is not {1}</source>
            <translation>dieses Modellpaket hat das Format {0}, nicht {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/model_process/published_weights.py" />
            <source>this model's files cannot be loaded: they are damaged, incomplete or of another model</source>
            <translation>die Dateien dieses Modells können nicht geladen werden: Sie sind beschädigt, unvollständig oder von einem anderen Modell</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <source>this model's folder has no vocabulary (tokenizer.model)</source>
            <translation>der Ordner dieses Modells hat kein Vokabular (tokenizer.model)</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/llava_net.py" />
            <source>this model's vocabulary (tokenizer.model) cannot be read</source>
            <translation>das Vokabular dieses Modells (tokenizer.model) ist nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>This object is not displayable</source>
            <translation>Dieses Objekt kann nicht dargestellt werden</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>this pack holds a model that this Sightline does not know: {0}</source>
            <translation>dieses Paket enthält ein Modell, das dieses Sightline nicht kennt: {0}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>this pack is incomplete: {0} is {1}</source>
            <translation>dieses Paket ist unvollständig: {0} ist {1}</translation>
        </message>
        <message>
            <location filename="../../app/records/record_library.py" />
            <source>this patient is in another open record, too, which is shown: {0}</source>
            <translation>dieser Patient ist auch in einer anderen geöffneten Akte, die gezeigt wird: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thumbnails.py" />
            <source>this picture cannot be read</source>
            <translation>dieses Bild ist nicht lesbar</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>this picture cannot be shown, so it cannot be sent</source>
            <translation>dieses Bild kann nicht gezeigt werden, also kann es nicht gesendet werden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/thumbnails.py" />
            <source>this picture is too large for a preview</source>
            <translation>dieses Bild ist zu groß für eine Vorschau</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>This picture may show who the patient is. Send it to {0}?</source>
            <translation>Dieses Bild könnte zeigen, wer der Patient ist. An {0} senden?</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/tiff_pixels.py" />
            <source>this plane is missing from the file</source>
            <translation>diese Ebene fehlt in der Datei</translation>
        </message>
        <message>
            <location filename="../../app/views/layer_loading.py" />
            <source>this presentation state does not apply to the image shown</source>
            <translation>dieser Präsentationszustand gilt nicht für das gezeigte Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>This report cannot be read. {reason}</source>
            <translation>Dieser Bericht ist nicht lesbar. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>this series is not a volume: it contains no images</source>
            <translation>diese Serie ist kein Volumen: Sie enthält keine Bilder</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>this series is not a volume: it contains several multi-frame images</source>
            <translation>diese Serie ist kein Volumen: Sie enthält mehrere Multiframe-Bilder</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volume_store.py" />
            <source>this series is not a volume: it has fewer than two slices</source>
            <translation>diese Serie ist kein Volumen: Sie hat weniger als zwei Schichten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/volumes.py" />
            <source>this series is not a volume: {0}</source>
            <translation>diese Serie ist kein Volumen: {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>This session</source>
            <translation>Diese Sitzung</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>This system cannot isolate the processes that decode files: they run with your permissions.</source>
            <translation>Dieses System kann die Prozesse, die Dateien dekodieren, nicht abschotten: Sie laufen mit Ihren Rechten.</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/thread.py" />
            <source>this thread keeps nothing on disk</source>
            <translation>von diesem Gespräch wird nichts gespeichert</translation>
        </message>
        <message>
            <location filename="../../app/imaging/formats/volume_file.py" />
            <source>this volume cannot be read</source>
            <translation>dieses Volumen kann nicht gelesen werden</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/checkpoint.py" />
            <source>this weights file cannot be read: it is damaged or not a weights file</source>
            <translation>diese Gewichtedatei ist nicht lesbar: Sie ist beschädigt oder keine Gewichtedatei</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/cardiothoracic.py" />
            <source>Thorax width</source>
            <translation>Thoraxbreite</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Three side by side</source>
            <translation>Drei nebeneinander</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>TIFF (exact; a page for each image)</source>
            <translation>TIFF (exakt; je Bild eine Seite)</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Time</source>
            <translation>Zeit</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/scrolling.py" />
            <source>Time point</source>
            <translation>Zeitpunkt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Timeline</source>
            <translation>Zeitverlauf</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Title</source>
            <translation>Titel</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Title of the key images</source>
            <translation>Titel der Schlüsselbilder</translation>
        </message>
        <message>
            <location filename="../../app/views/slice_paste.py" />
            <source>to</source>
            <translation>bis</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>To be accepted before it is used.</source>
            <translation>Vor der Verwendung zu akzeptieren.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Token</source>
            <translation>Token</translation>
        </message>
        <message>
            <location filename="../../app/views/record/source_dialog.py" />
            <source>Token, if the server needs one</source>
            <translation>Token, falls der Server eines braucht</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Tokens</source>
            <translation>Tokens</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>tokens</source>
            <translation>Tokens</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>too close to 0.5 to decide</source>
            <translation>zu nahe an 0,5, um zu entscheiden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/processes/worker_process.py" />
            <source>took too long ({0} s) and was stopped</source>
            <translation>dauerte zu lange ({0} s) und wurde gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <location filename="../../app/views/wording.py" />
            <source>Tool</source>
            <translation>Werkzeug</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Tool call: {tool}, stopping</source>
            <translation>Werkzeugaufruf: {tool}, wird gestoppt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Tool call: {tool}, {state}</source>
            <translation>Werkzeugaufruf: {tool}, {state}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Tool call: {tool}, {state}, result {number}</source>
            <translation>Werkzeugaufruf: {tool}, {state}, Ergebnis {number}</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Tool called</source>
            <translation>Werkzeug aufgerufen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Tool calls</source>
            <translation>Werkzeugaufrufe</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>Tool calls and everything sent are listed here.</source>
            <translation>Werkzeugaufrufe und alles Gesendete stehen hier.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Tool calls, permissions, transmissions and exports. It contains no patient data.</source>
            <translation>Werkzeugaufrufe, Genehmigungen, Übertragungen und Exporte. Enthält keine Patientendaten.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Tool ended</source>
            <translation>Werkzeug beendet</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Tool packs and instructions</source>
            <translation>Werkzeugpakete und Anweisungen</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Tool run again</source>
            <translation>Werkzeug erneut ausgeführt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Tool: {tool}</source>
            <translation>Werkzeug: {tool}</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Toolbar</source>
            <translation>Werkzeugleiste</translation>
        </message>
        <message>
            <location filename="../../app/audit/entry_text.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <location filename="../../resources/tables/audit.toml" />
            <source>Tools</source>
            <translation>Werkzeuge</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Tools and their rules</source>
            <translation>Werkzeuge und ihre Regeln</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Tools of an MCP server</source>
            <translation>Werkzeuge eines MCP-Servers</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Tools of an MCP server allowed</source>
            <translation>Werkzeuge eines MCP-Servers erlaubt</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Tools of an MCP server withdrawn</source>
            <translation>Werkzeuge eines MCP-Servers zurückgenommen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Tools that then work in part or not at all: {tools}.</source>
            <translation>Werkzeuge, die dann teilweise oder gar nicht arbeiten: {tools}.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Tools: see findings</source>
            <translation>Werkzeuge: siehe Befunde</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Total</source>
            <translation>Summe</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/ordering.py" />
            <source>trigger time</source>
            <translation>Triggerzeit</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>True size</source>
            <translation>Wahre Größe</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/scan.py" />
            <source>Try again</source>
            <translation>Versuchen Sie es erneut</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>Try again later, or ask whoever runs the server.</source>
            <translation>Versuchen Sie es später noch einmal, oder fragen Sie, wer den Server betreibt.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Try again later.</source>
            <translation>Versuchen Sie es später noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/process.py" />
            <location filename="../../app/tools/plot_files.py" />
            <source>Try again.</source>
            <translation>Versuchen Sie es noch einmal.</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>Try again; if it happens again, the file may have been tampered with.</source>
            <translation>Versuchen Sie es erneut; geschieht es wieder, wurde die Datei womöglich manipuliert.</translation>
        </message>
        <message>
            <location filename="../../app/views/background.py" />
            <location filename="../../app/views/record/record_opening.py" />
            <source>Try again; the log has the details.</source>
            <translation>Versuchen Sie es erneut; Einzelheiten stehen in der Protokolldatei.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Two by two</source>
            <translation>Zwei mal zwei</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>two diameters, the cardiothoracic ratio</source>
            <translation>zwei Durchmesser, Herz-Thorax-Quotient</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Two servers have the name {name}.</source>
            <translation>Zwei Server haben den Namen {name}.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>Two side by side</source>
            <translation>Zwei nebeneinander</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Type</source>
            <translation>Typ</translation>
        </message>
        <message>
            <location filename="../../app/views/command_palette.py" />
            <source>Type a command, such as “invert”</source>
            <translation>Befehl eingeben, z. B. „invertieren“</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/model_pictures.py" />
            <source>Ultrasound images usually show name and date in the image itself.</source>
            <translation>Ultraschallbilder zeigen Name und Datum meist im Bild selbst.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Uncertain: {text}</source>
            <translation>Unsicher: {text}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>Uncertainty now: {bits} bits. The tests by what they are expected to tell:</source>
            <translation>Unsicherheit jetzt: {bits} Bit. Die Untersuchungen nach dem, was sie erwarten lassen:</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>unchanged</source>
            <translation>unverändert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>under $0.001</source>
            <translation>unter $0.001</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>Undo</source>
            <translation>Rückgängig</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>undo, redo</source>
            <translation>rückgängig, wiederholen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Ungroup marks</source>
            <translation>Gruppierung der Markierungen aufheben</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Unit: the text says {told}, the finding is in {true}</source>
            <translation>Einheit: Der Text sagt {told}, der Befund ist in {true}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/lists.py" />
            <location filename="../../app/views/mark_keeping.py" />
            <source>Unknown</source>
            <translation>Unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>unknown</source>
            <translation>unbekannt</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/pane.py" />
            <source>Unknown colour map {cmap}: shown in grey</source>
            <translation>Unbekannte Farbtabelle {cmap}: in Grau gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/study_rows.py" />
            <source>Unknown patient</source>
            <translation>Unbekannter Patient</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Unload</source>
            <translation>Entladen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>Unlock it first.</source>
            <translation>Entsperren Sie ihn zuerst.</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_menu.py" />
            <source>Unlock it to move, change or delete it.</source>
            <translation>Entsperren Sie sie, um sie zu verschieben, zu ändern oder zu löschen.</translation>
        </message>
        <message>
            <location filename="../../app/audit/log.py" />
            <source>Unlock the keyring and start Sightline again.</source>
            <translation>Entsperren Sie den Schlüsselbund und starten Sie Sightline erneut.</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/heatmap_legend.py" />
            <source>unnamed</source>
            <translation>unbenannt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/sniffing.py" />
            <source>Unpack it first</source>
            <translation>Entpacken Sie es zuerst</translation>
        </message>
        <message>
            <location filename="../../app/imaging/files/archives.py" />
            <source>Unpack the archive first, then open the folder</source>
            <translation>Entpacken Sie zuerst das Archiv und öffnen Sie dann den Ordner</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Up</source>
            <translation>Nach oben</translation>
        </message>
        <message>
            <location filename="../../app/agent/sessions/session_file.py" />
            <source>Update Sightline to open it.</source>
            <translation>Aktualisieren Sie Sightline, um es zu öffnen.</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>Upper limit</source>
            <translation>Obere Grenze</translation>
        </message>
        <message>
            <location filename="../../app/views/histogram_panel.py" />
            <source>Upper limit of the window</source>
            <translation>Obere Grenze des Fensters</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>US dollars for a million tokens; for the estimate of what a run costs.</source>
            <translation>US-Dollar für eine Million Tokens; für die Schätzung, was ein Lauf kostet.</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Use a command</source>
            <translation>Befehl ausführen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/window_hint.py" />
            <source>Use a fitting window</source>
            <translation>Fenster anpassen</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Use an address with https.</source>
            <translation>Verwenden Sie eine Adresse mit https.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Use it anyway</source>
            <translation>Trotzdem verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Use its tools and rules</source>
            <translation>Seine Werkzeuge und Regeln verwenden</translation>
        </message>
        <message>
            <location filename="../../app/tools/images.py" />
            <source>Use single depths, or a smaller image.</source>
            <translation>Einzelne Tiefen oder ein kleineres Bild verwenden.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Use the record of another patient…</source>
            <translation>Akte eines anderen Patienten verwenden …</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Use them anyway; results will carry a warning</source>
            <translation>Trotzdem verwenden; Ergebnisse tragen dann eine Warnung</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>Use this</source>
            <translation>Dies verwenden</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/image_suitability.py" />
            <source>Use this image as a frontal chest radiograph anyway?</source>
            <translation>Dieses Bild trotzdem als frontale Thoraxaufnahme verwenden?</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Use this record</source>
            <translation>Diese Akte verwenden</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Use {title}?</source>
            <translation>{title} verwenden?</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>Used at your request</source>
            <translation>Auf Ihren Wunsch verwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_table.py" />
            <source>Used by</source>
            <translation>Verwendet von</translation>
        </message>
        <message>
            <location filename="../../app/imaging/pixels/windows.py" />
            <source>usual for CT; none in the file</source>
            <translation>für CT üblich; keines in der Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>valid inside the ultrasound image, not in scales or traces next to it</source>
            <translation>gültig im Ultraschallbild, nicht in Skalen oder Kurven daneben</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <location filename="../../app/views/histogram_panel.py" />
            <location filename="../../app/views/record/record_panel.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Value</source>
            <translation>Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/filling.py" />
            <source>Values</source>
            <translation>Werte</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>Values are of {0}</source>
            <translation>Werte von {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/record/trend_chart.py" />
            <source>Values over time</source>
            <translation>Werte im Zeitverlauf</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Variables</source>
            <translation>Variablen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>Verification</source>
            <translation>Sicherheit</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Verified by</source>
            <translation>Verifiziert von</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <location filename="../../app/views/models/models_window.py" />
            <source>Verify</source>
            <translation>Prüfen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Verify all</source>
            <translation>Alle prüfen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Version after this one</source>
            <translation>Fassung nach dieser</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Version before this one</source>
            <translation>Fassung vor dieser</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Version {number} of {count}</source>
            <translation>Fassung {number} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/help_dialogs.py" />
            <source>Version {version}</source>
            <translation>Version {version}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>View</source>
            <translation>Ansicht</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Viewport</source>
            <translation>Viewport</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/colormaps.py" />
            <source>Viridis</source>
            <translation>Viridis</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/patient_data.py" />
            <location filename="../../app/views/record/record_sections.py" />
            <source>Vital signs</source>
            <translation>Vitalzeichen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/openable.py" />
            <source>Volumes</source>
            <translation>Volumen</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/folder_changes.py" />
            <source>Wait until it is done there, or cancel it; then try again.</source>
            <translation>Warten Sie, bis es dort beendet ist, oder brechen Sie es ab; versuchen Sie es dann erneut.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <location filename="../../app/views/models/model_wording.py" />
            <source>Waiting</source>
            <translation>Wartet</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>waiting</source>
            <translation>wartet</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>Waiting for running tools, then unloading</source>
            <translation>Wartet auf laufende Werkzeuge, dann wird entladen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Waiting for your own answers is not counted.</source>
            <translation>Das Warten auf Ihre eigenen Antworten zählt nicht.</translation>
        </message>
        <message>
            <location filename="../../app/tools/hosting/host.py" />
            <source>Waiting for {0}</source>
            <translation>Warten auf {0}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>waits for: {names}</source>
            <translation>wartet auf: {names}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>Warning</source>
            <translation>Warnung</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Warnings and sides only</source>
            <translation>Nur Warnungen und Seiten</translation>
        </message>
        <message>
            <location filename="../../app/views/wording.py" />
            <source>waveform</source>
            <translation>Wellenform</translation>
        </message>
        <message>
            <location filename="../../resources/tables/chest.toml" />
            <source>Weasand</source>
            <translation>Ösophagus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/threads.py" />
            <source>Web page (*.html)</source>
            <translation>Webseite (*.html)</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>Weights</source>
            <translation>Gewichte</translation>
        </message>
        <message>
            <location filename="../../resources/tables/audit.toml" />
            <source>Weights asked for</source>
            <translation>Gewichte angefordert</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Weights or a model pack on this computer</source>
            <translation>Gewichte oder ein Modellpaket auf diesem Computer</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <location filename="../../app/views/chat/consent.py" />
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>What</source>
            <translation>Was</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>What arguments may name</source>
            <translation>Was Argumente nennen dürfen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>What came of it</source>
            <translation>Ergebnis</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>What can be done with this answer</source>
            <translation>Was mit dieser Antwort getan werden kann</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>What can be done with this conversation</source>
            <translation>Was mit diesem Gespräch getan werden kann</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>What can be done with this question</source>
            <translation>Was mit dieser Frage getan werden kann</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>What can you do?</source>
            <translation>Was kannst du?</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/tool_model.py" />
            <source>what identifies the patient could not be told: nothing was sent</source>
            <translation>was den Patienten kenntlich macht, ließ sich nicht feststellen: nichts wurde gesendet</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/plan.py" />
            <source>What is abnormal here, and where?</source>
            <translation>Was ist hier auffällig, und wo?</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>What is not drawn, and why</source>
            <translation>Was nicht gezeichnet wird, und warum</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>What is remembered for all conversations?</source>
            <translation>Was wird für alle Gespräche gemerkt?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>What is sent to it leaves this computer for {host}.</source>
            <translation>Was ihm gesendet wird, verlässt diesen Rechner und geht an {host}.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>What is the complaint, or what is suspected?</source>
            <translation>Was ist die Beschwerde, oder welcher Verdacht besteht?</translation>
        </message>
        <message>
            <location filename="../../app/tools/kept_values.py" />
            <source>what is to be kept as {0} is no JSON value</source>
            <translation>was als {0} gemerkt werden soll, ist kein JSON-Wert</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>What it does</source>
            <translation>Was es tut</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>What it is</source>
            <translation>Was es ist</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>What it would do</source>
            <translation>Was es tun würde</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>What leaves this computer?</source>
            <translation>Was verlässt diesen Computer?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>What may tools do?</source>
            <translation>Was dürfen Werkzeuge?</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>What next</source>
            <translation>Als Nächstes</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sc.py" />
            <source>What Sightline showed, {0}; grey levels as windowed</source>
            <translation>Was Sightline zeigte, {0}; Graustufen wie gefenstert</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>What the assistant did</source>
            <translation>Was der Assistent tat</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/answer.py" />
            <source>What the model thinks before it answers; not part of the answer</source>
            <translation>Was das Modell vor der Antwort denkt; nicht Teil der Antwort</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>What the packs' rules changed, and why</source>
            <translation>Was die Regeln der Pakete geändert haben, und warum</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>What the record says may be sent to {host}</source>
            <translation>Was in der Akte steht, darf an {host} gesendet werden</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>What the server says of its tools</source>
            <translation>Was der Server von seinen Werkzeugen sagt</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>What the viewports show</source>
            <translation>Was die Viewports zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>What was answered stays, as an earlier version.</source>
            <translation>Was geantwortet wurde, bleibt als frühere Fassung.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>What was asked</source>
            <translation>Was gefragt wurde</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>What was copied and what was left out</source>
            <translation>Was kopiert und was weggelassen wurde</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>What was found so far is above. Continue, or ask in other words.</source>
            <translation>Was bisher gefunden wurde, steht oben. Setzen Sie fort oder fragen Sie mit anderen Worten.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>What was found so far is above. Continue, or raise the limit in the settings.</source>
            <translation>Was bisher gefunden wurde, steht oben. Setzen Sie fort oder erhöhen Sie die Grenze in den Einstellungen.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_view.py" />
            <source>What was found until then is kept.</source>
            <translation>Was bis dahin gefunden wurde, bleibt erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>what was said last made no step, or another came after it</source>
            <translation>das zuletzt Gesagte war kein Schritt, oder es kam ein anderer danach</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>What would be sent; scroll with the arrow keys</source>
            <translation>Was gesendet würde; mit den Pfeiltasten blättern</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>What would change my mind</source>
            <translation>Was meine Meinung ändern würde</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>What writes, sends or runs programs is refused</source>
            <translation>Schreiben, Senden und Programme ablehnen</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>what you were asked about is not there any more</source>
            <translation>das, wonach Sie gefragt wurden, ist nicht mehr da</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>What you wrote is replaced; undo brings it back.</source>
            <translation>Was Sie geschrieben haben, wird ersetzt; Rückgängig bringt es zurück.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>whatever it does</source>
            <translation>was immer es tut</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Wheel, Ctrl + wheel</source>
            <translation>Rad, Strg + Rad</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/general_plan.py" />
            <source>When was this image taken, and what is its pixel spacing?</source>
            <translation>Wann wurde dieses Bild aufgenommen, und wie groß ist sein Pixelabstand?</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>Where</source>
            <translation>Ort</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/plan.py" />
            <source>Where are the lungs, and is the heart enlarged?</source>
            <translation>Wo sind die Lungen, und ist das Herz vergrößert?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Where it is</source>
            <translation>Wo er ist</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Where it is mentioned</source>
            <translation>Wo er genannt wird</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/crops.py" />
            <source>Where it is on the image</source>
            <translation>Wo es auf dem Bild liegt</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>where its shapes begin is damaged; not drawn</source>
            <translation>wo die Formen beginnen, ist beschädigt; nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>Where the language model runs: {says}</source>
            <translation>Wo das Sprachmodell läuft: {says}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Where the model runs</source>
            <translation>Wo das Modell läuft</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/result_wording.py" />
            <source>Where the phrase is seen</source>
            <translation>Wo die Textstelle zu sehen ist</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <source>whether the model can load this file cannot be checked without the AI packages</source>
            <translation>ohne die KI-Pakete lässt sich nicht prüfen, ob das Modell diese Datei laden kann</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/plan.py" />
            <source>Which cell states are there?</source>
            <translation>Welche Zellzustände gibt es?</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>Which findings of this study</source>
            <translation>Welche Befunde dieser Studie</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/model_page.py" />
            <source>Which model answers in the assistant?</source>
            <translation>Welches Modell antwortet im Assistenten?</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>which of these images lies higher in the patient is not known</source>
            <translation>welches dieser Bilder im Patienten höher liegt, ist nicht bekannt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Which servers may lend the assistant tools?</source>
            <translation>Welche Server dürfen dem Assistenten Werkzeuge leihen?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>while it is not installed</source>
            <translation>solange es nicht installiert ist</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>While one step of the plan is under way.</source>
            <translation>Während ein Schritt des Plans läuft.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Whole image, its own pixels</source>
            <translation>Ganzes Bild, eigene Pixel</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>Whose record?</source>
            <translation>Wessen Akte?</translation>
        </message>
        <message>
            <location filename="../../app/views/screen_calibration.py" />
            <source>wide</source>
            <translation>breit</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Width</source>
            <translation>Breite</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>width</source>
            <translation>Breite</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Width of the window</source>
            <translation>Breite des Fensters</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>Width px</source>
            <translation>Breite px</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <location filename="../../resources/tables/window.toml" />
            <source>Window</source>
            <translation>Fenster</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Window from a drawn region</source>
            <translation>Fenster aus gezeichneter Region</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>window from a drawn region; histogram</source>
            <translation>Fenster aus gezeichneter Region; Histogramm</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Window presets</source>
            <translation>Fenstervorgaben</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Window presets do not apply to this image</source>
            <translation>Fenstervorgaben gelten nicht für dieses Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>Window presets for {modality}</source>
            <translation>Fenstervorgaben für {modality}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/conversation.py" />
            <source>With an image open, the assistant runs imaging tools on it and draws what they find. General questions work without one.</source>
            <translation>Ist ein Bild geöffnet, wendet der Assistent Bildwerkzeuge darauf an und zeichnet ein, was sie finden. Allgemeine Fragen gehen auch ohne.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_sc.py" />
            <source>with marks or texts drawn in</source>
            <translation>mit eingezeichneten Markierungen oder Texten</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>With names</source>
            <translation>Mit Namen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>with UIDs of other images</source>
            <translation>mit UIDs anderer Bilder</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <location filename="../../app/views/settings/settings_dialog.py" />
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Withdraw</source>
            <translation>Zurückziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Withdraw all</source>
            <translation>Alle zurückziehen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Withdraw what {host} was allowed</source>
            <translation>Zurückziehen, was {host} erlaubt wurde</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>WITHDRAWN, not to be used: {rejection}</source>
            <translation>ZURÜCKGEZOGEN, nicht verwenden: {rejection}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>without a position</source>
            <translation>ohne eine Position</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Without a published ratio for it, so moving nothing: {findings}</source>
            <translation>Ohne veröffentlichten Quotienten dafür, verschiebt also nichts: {findings}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Without a published ratio here, so moving nothing: {findings}</source>
            <translation>Ohne veröffentlichten Quotienten hier, verschiebt also nichts: {findings}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>without answers whose price is not known</source>
            <translation>ohne Antworten, deren Preis nicht bekannt ist</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>Without it the weights are installed, and the code is left out.</source>
            <translation>Ohne ihn werden die Gewichte installiert und der Code ausgelassen.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/printing.py" />
            <source>without names</source>
            <translation>ohne Namen</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Without names and dates</source>
            <translation>Ohne Namen und Daten</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>Without names, texts and overlays that files draw on the image are left out too, and labels with the patient's name or ID.</source>
            <translation>Ohne Namen werden auch Texte und Overlays weggelassen, die Dateien auf das Bild zeichnen, sowie Beschriftungen mit Name oder ID des Patienten.</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Work at a place</source>
            <translation>An einer Stelle arbeiten</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <source>Work on findings</source>
            <translation>Befunde bearbeiten</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Write a text</source>
            <translation>Text schreiben</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Write https://host/fhir/Patient/ID or .../Patient?identifier=NUMBER.</source>
            <translation>Schreiben Sie https://host/fhir/Patient/ID oder .../Patient?identifier=NUMMER.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>Write it as https://host/fhir.</source>
            <translation>Schreiben Sie sie als https://host/fhir.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>Write it, then sign.</source>
            <translation>Schreiben, dann unterschreiben.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_gsps.py" />
            <source>Write one presentation state for each series.</source>
            <translation>Schreiben Sie für jede Serie einen eigenen Präsentationsstatus.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>Write one segmentation for each image.</source>
            <translation>Schreiben Sie für jedes Bild eine eigene Segmentierung.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>Write one segmentation for each series.</source>
            <translation>Schreiben Sie für jede Serie eine eigene Segmentierung.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>Write the findings or the impression.</source>
            <translation>Befunde oder Beurteilung schreiben.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>Write the whole address, such as https://name/mcp.</source>
            <translation>Schreiben Sie die ganze Adresse, etwa https://name/mcp.</translation>
        </message>
        <message>
            <location filename="../../app/workspace/report.py" />
            <source>Write your name.</source>
            <translation>Den Namen schreiben.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>Writes</source>
            <translation>Schreibt</translation>
        </message>
        <message>
            <location filename="../../app/agent/policy/arguments.py" />
            <location filename="../../app/views/settings/tools_page.py" />
            <source>writes</source>
            <translation>schreibt</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_states.py" />
            <source>Writing</source>
            <translation>Wird geschrieben</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cropping.py" />
            <source>Writing cells</source>
            <translation>Zellen werden geschrieben</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/segmentation.py" />
            <source>Writing the mask and the table</source>
            <translation>Maske und Tabelle werden geschrieben</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/dicom_processor.py" />
            <source>Writing the PNG</source>
            <translation>PNG wird geschrieben</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>Written by {model}</source>
            <translation>Geschrieben von {model}</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/channel_panel.py" />
            <source>Yellow</source>
            <translation>Gelb</translation>
        </message>
        <message>
            <location filename="../../app/views/models/models_window.py" />
            <source>You accepted these terms.</source>
            <translation>Sie haben diese Bedingungen akzeptiert.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>You are asked again before anything more is sent there</source>
            <translation>Sie werden erneut gefragt, bevor wieder etwas dorthin gesendet wird</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>You are asked before each call, and see what is sent.</source>
            <translation>Sie werden vor jedem Aufruf gefragt und sehen, was gesendet wird.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>You asked</source>
            <translation>Sie haben gefragt</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>You can change it or take steps out; it waits until you let it go on. Of the plans that rules make; a language model decides as it goes.</source>
            <translation>Sie können ihn ändern oder Schritte herausnehmen; er wartet, bis Sie ihn weiterlaufen lassen. Gilt für Pläne nach Regeln; ein Sprachmodell entscheidet Schritt für Schritt.</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <location filename="../../app/views/record/record_panel.py" />
            <source>You chose this record; it is not linked to the shown study.</source>
            <translation>Sie haben diese Akte gewählt; sie gehört nicht zur gezeigten Studie.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/guards.py" />
            <source>you may not read it (permission denied)</source>
            <translation>Sie dürfen es nicht lesen (Zugriff verweigert)</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>you may not read the folder of the models</source>
            <translation>Sie dürfen den Ordner der Modelle nicht lesen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>you took it out of the plan</source>
            <translation>von Ihnen aus dem Plan genommen</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>Your hanging protocols</source>
            <translation>Ihre Hängeprotokolle</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>Your keyboard shortcuts</source>
            <translation>Ihre Tastenkürzel</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Your name for reports</source>
            <translation>Ihr Name für Berichte</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_panel.py" />
            <source>Your name, in words</source>
            <translation>Ihr Name, in Worten</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>Your notes</source>
            <translation>Ihre Notizen</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Your notes that are ticked on the page Assistant memory, and your administrator's</source>
            <translation>Ihre Notizen, die auf der Seite Gedächtnis angekreuzt sind, und die Ihrer Administration</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>Your notes under Settings &gt; Assistant memory, and your administrator's</source>
            <translation>Ihre Notizen unter Einstellungen &gt; Gedächtnis und die Ihrer Administration</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Your own</source>
            <translation>Ihr eigenes</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>Your own layout</source>
            <translation>Ihr eigenes Layout</translation>
        </message>
        <message>
            <location filename="../../app/views/report/report_texts.py" />
            <source>Your own sentence: it rests on no finding</source>
            <translation>Ihr eigener Satz: Er beruht auf keinem Befund</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>Your own; it goes before those that are shipped.</source>
            <translation>Ihr eigenes; es geht den mitgelieferten vor.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>Your question</source>
            <translation>Ihre Frage</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>Your question and the earlier ones of this conversation, with their answers</source>
            <translation>Ihre Frage und die früheren dieses Gesprächs, mit ihren Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/settings_dialog.py" />
            <source>Your questions and the earlier ones of the conversation, with their answers</source>
            <translation>Ihre Fragen und die früheren des Gesprächs, mit ihren Antworten</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/tools_page.py" />
            <source>your rule</source>
            <translation>Ihre Regel</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>Your window presets</source>
            <translation>Ihre Fenstervorgaben</translation>
        </message>
        <message>
            <location filename="../../app/tools/viewer/tools.py" />
            <location filename="../../app/views/menu_bar.py" />
            <source>Zoom</source>
            <translation>Zoom</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>zoom</source>
            <translation>zoomen</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Zoom in</source>
            <translation>Vergrößern</translation>
        </message>
        <message>
            <location filename="../../app/views/menu_bar.py" />
            <source>Zoom out</source>
            <translation>Verkleinern</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Zoom {percent}%</source>
            <translation>Zoom {percent}%</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>Zoom {percent}%  (true size)</source>
            <translation>Zoom {percent}%  (wahre Größe)</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>zoom, from any panel too</source>
            <translation>zoomen, auch aus jedem Bereich</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>zoom; open the context menu</source>
            <translation>zoomen; Kontextmenü öffnen</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} ({1}) does not answer</source>
            <translation>{0} ({1}) antwortet nicht</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/tool_model.py" />
            <source>{0} accepts no pictures</source>
            <translation>{0} nimmt keine Bilder an</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>{0} and {1} exclude each other</source>
            <translation>{0} und {1} schließen einander aus</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/network_models.py" />
            <source>{0} answered with a mask of another size than the image</source>
            <translation>{0} antwortete mit einer Maske anderer Größe als das Bild</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} answered with an error: "{1}"</source>
            <translation>{0} antwortete mit einem Fehler: „{1}“</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} answered with something that is not MCP</source>
            <translation>{0} antwortete mit etwas, das kein MCP ist</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/inner_calls.py" />
            <source>{0} asks before each call by the policy of this installation, so it is not run on many images at once</source>
            <translation>{0} fragt nach den Regeln dieser Installation vor jedem Aufruf und läuft daher nicht auf vielen Bildern zugleich</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>{0} by {1}°: each slice is shifted against the one before</source>
            <translation>{0} um {1}°: Jede Schicht ist gegen die vorige verschoben</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>{0} cannot be compared: {1}</source>
            <translation>{0} lässt sich nicht vergleichen: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/downloads.py" />
            <source>{0} cannot be downloaded: its card has no address</source>
            <translation>{0} kann nicht heruntergeladen werden: Seine Karte hat keine Adresse</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/cell_state_analyzer.py" />
            <source>{0} cannot be grouped into states: at least {1} are needed</source>
            <translation>{0} lassen sich nicht in Zustände gruppieren: mindestens {1} sind nötig</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} cannot be reached</source>
            <translation>{0} ist nicht erreichbar</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>{0} cannot be read: {1}</source>
            <translation>{0} kann nicht gelesen werden: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/api.py" />
            <source>{0} cannot be run within another tool's call here</source>
            <translation>{0} kann hier nicht im Aufruf eines anderen Werkzeugs laufen</translation>
        </message>
        <message>
            <location filename="../../app/tools/plot_data.py" />
            <source>{0} categories are too many for a plot</source>
            <translation>{0} Kategorien sind zu viele für ein Diagramm</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <source>{0} comes with code that is run with it, which is not allowed yet: {1}</source>
            <translation>{0} kommt mit Code, der damit ausgeführt wird und noch nicht erlaubt ist: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/install_plan.py" />
            <location filename="../../app/tools/models/store.py" />
            <source>{0} comes with Sightline</source>
            <translation>{0} kommt mit Sightline</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>{0} comes with Sightline and cannot be removed</source>
            <translation>{0} kommt mit Sightline und kann nicht entfernt werden</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>{0} could not be followed: {1}</source>
            <translation>{0} konnte nicht verfolgt werden: {1}</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>{0} could not be read: the defaults are used. The file {1} could not be moved aside.</source>
            <translation>Nicht lesbar: {0}. Die Standardwerte werden verwendet. Die Datei {1} konnte nicht beiseitegelegt werden.</translation>
        </message>
        <message>
            <location filename="../../app/user_files.py" />
            <source>{0} could not be read: the defaults are used. The old file is kept as {1}.</source>
            <translation>Nicht lesbar: {0}. Die Standardwerte werden verwendet. Die alte Datei bleibt als {1} erhalten.</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} could not do it: "{1}"</source>
            <translation>{0} konnte es nicht: „{1}“</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} did not answer within {1}</source>
            <translation>{0} antwortete nicht innerhalb von {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>{0} does not say where it lies in the patient, or how far its pixels are apart: nothing on it can be compared in mm</source>
            <translation>{0} sagt nicht, wo es im Patienten liegt oder wie weit seine Pixel auseinanderliegen: Nichts darauf lässt sich in mm vergleichen</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} ended before it answered</source>
            <translation>{0} endete, bevor eine Antwort kam</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>{0} Enlarge each picture and look for a name, an id, a date or a face. With no, they stay here. Your answer holds for exactly these pictures.</source>
            <translation>{0} Vergrößern Sie jedes Bild und suchen Sie nach einem Namen, einer Kennung, einem Datum oder einem Gesicht. Bei Nein bleiben sie hier. Ihre Antwort gilt für genau diese Bilder.</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>{0} entries that the record itself marks as entered in error are left out</source>
            <translation>{0} Einträge, die die Akte selbst als irrtümlich erfasst kennzeichnet, bleiben weg</translation>
        </message>
        <message>
            <location filename="../../app/agent/loop/model_turn.py" />
            <location filename="../../app/tools/record/imaging.py" />
            <source>{0} gave no answer</source>
            <translation>{0} gab keine Antwort</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/model_results.py" />
            <source>{0} gave no usable answer: {1}</source>
            <translation>{0} gab keine brauchbare Antwort: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/servers.py" />
            <source>{0} has changed its tools since you allowed them; nothing was sent</source>
            <translation>{0} hat seine Werkzeuge geändert, seit Sie sie erlaubt haben; nichts wurde gesendet</translation>
        </message>
        <message>
            <location filename="../../app/tools/registry.py" />
            <source>{0} has changed what it says of itself since it was loaded</source>
            <translation>{0} beschreibt sich anders, als es geladen wurde</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>{0} has not enough space: {1} GB are needed</source>
            <translation>{0} hat nicht genug Platz: {1} GB werden gebraucht</translation>
        </message>
        <message>
            <location filename="../../app/tools/general/volume_compare.py" />
            <source>{0} has {1} slices over {2} mm: too few to be registered</source>
            <translation>{0} hat {1} Schichten über {2} mm: zu wenige für eine Registrierung</translation>
        </message>
        <message>
            <location filename="../../app/records/record_index.py" />
            <source>{0} identical copies of what is there already, which is shown once</source>
            <translation>{0} gleiche Kopien von schon Vorhandenem, das einmal gezeigt wird</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/spacing.py" />
            <source>{0} ignored as impossible</source>
            <translation>{0} als unmöglich nicht beachtet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>{0} image has the SOP Instance UID of another one</source>
            <translation>{0} Bild hat die SOP Instance UID eines anderen</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/image_preprocessor.py" />
            <source>{0} images are too many at once</source>
            <translation>{0} Bilder sind zu viele auf einmal</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/catalogue.py" />
            <source>{0} images have the SOP Instance UID of another one</source>
            <translation>{0} Bilder haben die SOP Instance UID eines anderen</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <source>{0} is damaged: sha256 {1}, its manifest says {2}</source>
            <translation>{0} ist beschädigt: sha256 {1}, laut Verzeichnis {2}</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>{0} is no waveform</source>
            <translation>{0} ist keine Signalkurve</translation>
        </message>
        <message>
            <location filename="../../app/imaging/deidentify/options.py" />
            <source>{0} is not a folder</source>
            <translation>{0} ist kein Ordner</translation>
        </message>
        <message>
            <location filename="../../app/tools/microscopy/networks.py" />
            <source>{0} is not installed</source>
            <translation>{0} ist nicht installiert</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/ecg.py" />
            <source>{0} is not known to be of {1}</source>
            <translation>{0} ist nicht sicher von {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>{0} is not the manifest of a model pack</source>
            <translation>{0} ist nicht das Verzeichnis eines Modellpakets</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>{0} is outside this machine. {1} Write no patient data into the question. Your answer holds for this conversation and this model until Sightline is closed.</source>
            <translation>{0} liegt außerhalb dieses Computers. {1} Schreiben Sie keine Patientendaten in die Frage. Ihre Antwort gilt für dieses Gespräch und dieses Modell, bis Sightline geschlossen wird.</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/differential.py" />
            <source>{0} is said to be both present and absent</source>
            <translation>{0} soll vorhanden und nicht vorhanden sein</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/installation.py" />
            <source>{0} is {1} than it should be: {2} bytes</source>
            <translation>{0} ist {1} als es sein sollte: {2} Bytes</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/imaging.py" />
            <source>{0} looks at the image</source>
            <translation>{0} sieht das Bild an</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/protocol.py" />
            <source>{0} named no disease</source>
            <translation>{0} hat keine Krankheit genannt</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>{0} needs a model that is not installed: {1}</source>
            <translation>{0} braucht ein Modell, das nicht installiert ist: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/store.py" />
            <source>{0} needs a model whose terms are not accepted: {1}</source>
            <translation>{0} braucht ein Modell, dessen Bedingungen nicht akzeptiert sind: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/vision.py" />
            <source>{0} needs a vision model, and none is chosen</source>
            <translation>{0} braucht ein Modell, das Bilder sieht, und keines ist gewählt</translation>
        </message>
        <message>
            <location filename="../../app/tools/record/vision.py" />
            <source>{0} needs a vision model, and {1} accepts no pictures</source>
            <translation>{0} braucht ein Modell, das Bilder sieht, und {1} nimmt keine Bilder</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/report.py" />
            <source>{0} needs models that are not installed: {1}</source>
            <translation>{0} braucht Modelle, die nicht installiert sind: {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/needs.py" />
            <source>{0} needs the Python package {1}, which is not installed</source>
            <translation>{0} braucht das Python-Paket {1}, das nicht installiert ist</translation>
        </message>
        <message>
            <location filename="../../app/tools/chest/compare.py" />
            <source>{0} not found on {1}: the images cannot be aligned</source>
            <translation>{0} nicht gefunden auf {1}: Die Bilder können nicht zur Deckung gebracht werden</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/write_seg.py" />
            <source>{0} objects are too many for a segmentation</source>
            <translation>{0} Objekte sind zu viele für eine Segmentierung</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/copies.py" />
            <source>{0} of its files are copies of images that are listed</source>
            <translation>{0} der Dateien darin sind Kopien von Bildern, die aufgeführt sind</translation>
        </message>
        <message>
            <location filename="../../app/imaging/scanning/listing.py" />
            <source>{0} of its files are not read: {1}</source>
            <translation>{0} der Dateien darin werden nicht gelesen: {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_image.py" />
            <source>{0} of {1} tiles are damaged and left empty</source>
            <translation>{0} von {1} Kacheln sind beschädigt und bleiben leer</translation>
        </message>
        <message>
            <location filename="../../app/agent/llm/anthropic_model.py" />
            <source>{0} Or choose another provider.</source>
            <translation>{0} Oder wählen Sie einen anderen Anbieter.</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_server.py" />
            <source>{0} patients fit</source>
            <translation>{0} Patienten passen</translation>
        </message>
        <message>
            <location filename="../../app/records/matching.py" />
            <source>{0} patients of the record fit: choose one.</source>
            <translation>{0} Patienten der Akte passen: wählen Sie einen.</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>{0} pictures, exactly as shown below</source>
            <translation>{0} Bilder, genau wie unten gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} refuses the key ({1})</source>
            <translation>{0} weist den Schlüssel ab ({1})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_values.py" />
            <source>{0} rows, {1} columns</source>
            <translation>{0} Zeilen, {1} Spalten</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>{0} samples a pixel</source>
            <translation>{0} Werte je Pixel</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/reformat.py" />
            <source>{0} sections through a volume</source>
            <translation>{0} Schnitte durch ein Volumen</translation>
        </message>
        <message>
            <location filename="../../app/tools/mcp/session.py" />
            <source>{0} sent more than {1}; its answer was dropped</source>
            <translation>{0} sendete mehr als {1}; die Antwort wurde verworfen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>{0} shapes lie outside the image: not drawn</source>
            <translation>{0} Formen liegen außerhalb des Bildes: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>{0} slice is missing after slice {1}: {2} instead of {3} mm</source>
            <translation>{0} Schicht fehlt nach Schicht {1}: {2} statt {3} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>{0} slices are missing after slice {1}: {2} instead of {3} mm</source>
            <translation>{0} Schichten fehlen nach Schicht {1}: {2} statt {3} mm</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_entries.py" />
            <source>{0} times per {1}</source>
            <translation>{0}-mal je {1}</translation>
        </message>
        <message>
            <location filename="../../app/tools/models/sources.py" />
            <source>{0} was changed since {1} was installed</source>
            <translation>{0} wurde geändert, seit {1} installiert wurde</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_objects.py" />
            <source>{0} whose header is not complete: not displayable</source>
            <translation>{0}, dessen Header nicht vollständig ist: nicht darstellbar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segment_index.py" />
            <source>{0} with neither a source image nor a position: not drawn</source>
            <translation>{0} mit weder Quellbild noch Position: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segment_index.py" />
            <source>{0} without a segment number: not drawn</source>
            <translation>{0} ohne Segmentnummer: nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/label_volumes.py" />
            <source>{0}% of its labelled voxels lie outside the image</source>
            <translation>{0}% der Voxel mit Label liegen außerhalb des Bildes</translation>
        </message>
        <message>
            <location filename="../../app/records/fhir_texts.py" />
            <source>{0}, cannot be shown as text</source>
            <translation>{0}, nicht als Text zu zeigen</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_values.py" />
            <source>{0}, in pixels of the whole slide</source>
            <translation>{0}, in Pixeln des ganzen Objektträgers</translation>
        </message>
        <message>
            <location filename="../../app/imaging/studies/splitting.py" />
            <source>{0}, pixels of {1} x {2} mm</source>
            <translation>{0}, Pixel von {1} x {2} mm</translation>
        </message>
        <message>
            <location filename="../../app/imaging/space/stacks.py" />
            <source>{0}, to {1} mm after slice {2}</source>
            <translation>{0}, auf {1} mm nach Schicht {2}</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/table.py" />
            <source>{0}: cannot be read as TOML: {1}</source>
            <translation>{0}: nicht als TOML lesbar: {1}</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/layer_reading.py" />
            <source>{0}: its kind of shape is unknown; not drawn</source>
            <translation>{0}: Art der Form unbekannt; nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>{0}: no description in the file</source>
            <translation>{0}: keine Beschreibung in der Datei</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/segmentation.py" />
            <source>{0}: no description in the file, not drawn</source>
            <translation>{0}: keine Beschreibung in der Datei, nicht gezeichnet</translation>
        </message>
        <message>
            <location filename="../../app/tools/diagnosis/differential.py" />
            <source>{0}: no such disease in this table</source>
            <translation>{0}: diese Krankheit steht nicht in der Tabelle</translation>
        </message>
        <message>
            <location filename="../../app/imaging/reading/dicom_objects.py" />
            <source>{0}: not displayable</source>
            <translation>{0}: nicht darstellbar</translation>
        </message>
        <message>
            <location filename="../../app/imaging/objects/report_reading.py" />
            <source>{0}: the images named here were withdrawn and are not to be used</source>
            <translation>{0}: Die hier genannten Bilder wurden zurückgezogen und sind nicht zu verwenden</translation>
        </message>
        <message>
            <location filename="../../app/agent/privacy/consents.py" />
            <source>{0}: {1} Enlarge the picture and look for a name, an id, a date or a face. With no, it stays here. Your answer holds for exactly this picture.</source>
            <translation>{0}: {1} Vergrößern Sie das Bild und suchen Sie nach einem Namen, einer Kennung, einem Datum oder einem Gesicht. Bei Nein bleibt es hier. Ihre Antwort gilt für genau dieses Bild.</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/codecs.py" />
            <source>{0}its pixels are damaged and cannot be decoded ({1})</source>
            <translation>{0}die Pixel sind beschädigt und können nicht dekodiert werden ({1})</translation>
        </message>
        <message>
            <location filename="../../app/imaging/dicom/dicom_items.py" />
            <source>{0}… (cut: it has {1} characters)</source>
            <translation>{0}… (gekürzt: {1} Zeichen)</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>{action}  ·  {time}  ·  entry {number}, {place}</source>
            <translation>{action}  ·  {time}  ·  Eintrag {number}, {place}</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>{bits} bits</source>
            <translation>{bits} Bit</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>{count:,} of {total:,} lines</source>
            <translation>{count} von {total} Zeilen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>{count} entries</source>
            <translation>{count} Einträge</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <source>{count} findings: {names}</source>
            <translation>{count} Befunde: {names}</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>{count} left out: padding, or behind the shutter</source>
            <translation>{count} ausgelassen: Auffüllung oder hinter der Blende</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/layers_panel.py" />
            <source>{count} more: hover to read them</source>
            <translation>{count} weitere: zum Lesen mit der Maus darauf zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_panel.py" />
            <source>{count} more: search for them</source>
            <translation>{count} weitere: Suchen Sie danach</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/attributes.py" />
            <source>{count} of {total} attributes</source>
            <translation>{count} von {total} Attributen</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>{count} pixels</source>
            <translation>{count} Pixel</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_panel.py" />
            <source>{count} presentations</source>
            <translation>{count} Leitsymptome</translation>
        </message>
        <message>
            <location filename="../../app/views/record/trend_chart.py" />
            <source>{count} values</source>
            <translation>{count} Werte</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>{count} waiting</source>
            <translation>{count} wartend</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{count}: show them</source>
            <translation>{count}: zeigen</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>{disease}: no published ratio, not moved</source>
            <translation>{disease}: kein veröffentlichter Quotient, nicht verschoben</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>{disease}: {ratio} not counted, it depends on: {finding}</source>
            <translation>{disease}: {ratio} nicht gezählt, hängt ab von: {finding}</translation>
        </message>
        <message>
            <location filename="../../app/views/deidentify_dialog.py" />
            <source>{done} of {count} files</source>
            <translation>{done} von {count} Dateien</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>{file}, line {line}</source>
            <translation>{file}, Zeile {line}</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>{file}: not written. {reason}</source>
            <translation>{file}: nicht geschrieben. {reason}</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>{file}: written</source>
            <translation>{file}: geschrieben</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>{finding}: absent</source>
            <translation>{finding}: nicht vorhanden</translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/diagnosis_texts.py" />
            <source>{finding}: present</source>
            <translation>{finding}: vorhanden</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>{fit}, {one_to_one}, 1 to 9</source>
            <translation>{fit}, {one_to_one}, 1 bis 9</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{instead} follows</source>
            <translation>{instead} folgt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{instead} instead of {tool}</source>
            <translation>{instead} statt {tool}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{instead} lists what there is</source>
            <translation>{instead} listet auf, was es gibt</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{instead} runs first</source>
            <translation>{instead} läuft zuerst</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>{key} cannot be used: it serves to {use}.</source>
            <translation>{key} ist schon vergeben: {use}.</translation>
        </message>
        <message>
            <location filename="../../app/views/shortcuts.py" />
            <source>{key} is the key of “{command}”, which would lose it.</source>
            <translation>{key} ist die Taste von „{command}“, das sie verlöre.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>{kind}, by your administrator</source>
            <translation>{kind}, von Ihrer Administration</translation>
        </message>
        <message>
            <location filename="../../app/views/dicom_export_dialog.py" />
            <source>{kind}: there is nothing to write</source>
            <translation>{kind}: nichts zu schreiben</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/tool_card.py" />
            <source>{listed} and {count} more</source>
            <translation>{listed} und {count} weitere</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_dialogs.py" />
            <source>{low} to {high} {units}</source>
            <translation>{low} bis {high} {units}</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>{model}
A language model at {remote_host}. Before anything is sent there, you are asked. Click to change.</source>
            <translation>{model}
Ein Sprachmodell bei {remote_host}. Bevor etwas dorthin gesendet wird, werden Sie gefragt. Zum Ändern klicken.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/dock.py" />
            <source>{model}
Runs on this computer; nothing leaves it. Click to change.</source>
            <translation>{model}
Läuft auf diesem Computer; nichts verlässt ihn. Zum Ändern klicken.</translation>
        </message>
        <message>
            <location filename="../../app/views/main_window.py" />
            <source>{names}. Your decisions stand. A result that differs is proposed beside them, one that is the same is not listed again.</source>
            <translation>{names}. Ihre Entscheidungen bleiben. Ein anderes Ergebnis wird daneben vorgeschlagen, ein gleiches nicht noch einmal aufgeführt.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>{name}  (gone)</source>
            <translation>{name}  (weg)</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>{name} (other image version)</source>
            <translation>{name} (andere Bildfassung)</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/wording.py" />
            <source>{name} and %n more</source>
            <extracomment>Singular: {name} and %n more</extracomment>
            <translation>
                <numerusform>{name} und %n weitere</numerusform>
                <numerusform>{name} und %n weitere</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>{name} as it would be sent</source>
            <translation>{name}, wie es gesendet würde</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>{name} as it would be sent: enlarge</source>
            <translation>{name}, wie es gesendet würde: vergrößern</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_list.py" />
            <source>{name} from {day}</source>
            <translation>{name} vom {day}</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>{name} has changed. May the assistant use its tools?</source>
            <translation>{name} hat sich geändert. Darf der Assistent seine Werkzeuge verwenden?</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>{name} has no address such as https://name/mcp.</source>
            <translation>{name} hat keine Adresse wie https://name/mcp.</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/mcp_page.py" />
            <source>{name} has no command.</source>
            <translation>{name} hat keinen Befehl.</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/approval.py" />
            <source>{name}, {lines} lines:</source>
            <translation>{name}, {lines} Zeilen:</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/message.py" />
            <source>{number} of {count}</source>
            <translation>{number} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>{own}{why}. {key} shows the study as before.</source>
            <translation>{own}{why}. {key} zeigt die Studie wie zuvor.</translation>
        </message>
        <message>
            <location filename="../../app/views/documents/document_pages.py" />
            <source>{place} of {count}</source>
            <translation>{place} von {count}</translation>
        </message>
        <message>
            <location filename="../../app/views/audit/audit_window.py" />
            <source>{place}: this line cannot be read.</source>
            <translation>{place}: Diese Zeile ist nicht lesbar.</translation>
        </message>
        <message>
            <location filename="../../app/views/pictures/export_dialog.py" />
            <source>{reason}. GIF movies can be saved.</source>
            <translation>{reason}. GIF-Filme können gespeichert werden.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/layout_menu.py" />
            <source>{rows} rows, {columns} columns</source>
            <translation>{rows} Zeilen, {columns} Spalten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>{sent:,} tokens in, {received:,} out</source>
            <translation>{sent} Tokens hinein, {received} heraus</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/run_wording.py" />
            <source>{sent:,} tokens in, {received:,} out (estimated)</source>
            <translation>{sent} Tokens hinein, {received} heraus (geschätzt)</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/problem_list.py" />
            <source>{shown} and {more:,} more</source>
            <translation>{shown} und {more} weitere</translation>
        </message>
        <message>
            <location filename="../../app/views/browser/findings_filter.py" />
            <source>{shown} of {count} findings are shown</source>
            <translation>{shown} von {count} Befunden werden gezeigt</translation>
        </message>
        <message>
            <location filename="../../app/views/results/plot_pane.py" />
            <source>{shown} of {count} points are drawn; the table and the file have all.</source>
            <translation>{shown} von {count} Punkten sind gezeichnet; Tabelle und Datei haben alle.</translation>
        </message>
        <message>
            <location filename="../../app/views/results/table_pane.py" />
            <source>{shown} of {count} rows</source>
            <translation>{shown} von {count} Zeilen</translation>
        </message>
        <message>
            <location filename="../../app/views/models/consent_dialog.py" />
            <source>{size} are deleted in {path}.</source>
            <translation>{size} in {path} werden gelöscht.</translation>
        </message>
        <message>
            <location filename="../../resources/tables/window.toml" />
            <source>{snap}, Hold Alt</source>
            <translation>{snap}, Alt halten</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_wording.py" />
            <source>{text}, not as published</source>
            <translation>{text}, nicht wie veröffentlicht</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/composer.py" />
            <source>{tip} (Enter)</source>
            <translation>{tip} (Eingabetaste)</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>{title} (my own)</source>
            <translation>{title} (eigenes)</translation>
        </message>
        <message>
            <location filename="../../app/views/mark_keeping.py" />
            <source>{title} (open)</source>
            <translation>{title} (geöffnet)</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>{title} is out of memory.</source>
            <translation>{title} ist nicht mehr im Speicher.</translation>
        </message>
        <message>
            <location filename="../../app/views/models/model_tasks.py" />
            <source>{title}: self-check {self_check}.</source>
            <translation>{title}: Selbsttest {self_check}.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/study_hanging.py" />
            <source>{title}: studies like this open in this layout from now on</source>
            <translation>{title}: Solche Studien öffnen von nun an in diesem Layout</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{tool} cannot run yet</source>
            <translation>{tool} kann noch nicht laufen</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{tool} found nothing</source>
            <translation>{tool} hat nichts gefunden</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{tool} is changed</source>
            <translation>{tool} wird geändert</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{tool} is left out, as you asked</source>
            <translation>{tool} wird ausgelassen, wie Sie wünschten</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{tool} is not for this image</source>
            <translation>{tool} ist nicht für dieses Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/plan_view.py" />
            <source>{tool} is not used</source>
            <translation>{tool} wird nicht verwendet</translation>
        </message>
        <message>
            <location filename="../../app/views/settings/memory_page.py" />
            <source>{used} of {most} characters</source>
            <translation>{used} von {most} Zeichen</translation>
        </message>
        <message>
            <location filename="../../app/views/canvas/corner_text.py" />
            <source>{width} mm thick</source>
            <translation>{width} mm dick</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>{width} x {height} pixels, in full size</source>
            <translation>{width} x {height} Pixel, in voller Größe</translation>
        </message>
        <message>
            <location filename="../../app/views/chat/consent.py" />
            <source>{width} x {height} pixels, {kilobytes} KB. Click for full size.</source>
            <translation>{width} x {height} Pixel, {kilobytes} KB. Klicken für volle Größe.</translation>
        </message>
        <message>
            <location filename="../../app/views/record/record_sections.py" />
            <source>{years} y</source>
            <translation>{years} J.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/viewer.py" />
            <source>“Undo” takes back the last step.</source>
            <translation>„Rückgängig“ nimmt den letzten Schritt zurück.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>“{0}” cannot be used now</source>
            <translation>„{0}“ ist jetzt nicht möglich</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/finding_commands.py" />
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>“{0}” has no place on the image</source>
            <translation>„{0}“ hat keinen Ort auf dem Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/viewer_commands/view_commands.py" />
            <source>“{0}” is not on that image</source>
            <translation>„{0}“ ist nicht auf diesem Bild</translation>
        </message>
        <message>
            <location filename="../../app/views/preset_dialog.py" />
            <source>“{text}” is not a number. Write it as 1500 or 0.5.</source>
            <translation>„{text}“ ist keine Zahl. Schreiben Sie 1500 oder 0.5.</translation>
        </message>
        <message>
            <location filename="../../app/views/viewports/protocol_dialog.py" />
            <source>“{word}” is not a modality such as CT, MR or DX.</source>
            <translation>„{word}“ ist keine Modalität wie CT, MR oder DX.</translation>
        </message>
        <message numerus="yes">
            <location filename="../../app/views/chat/tool_card.py" />
            <source>… %n more characters; the session file has them all.</source>
            <extracomment>Singular: … %n more character; the session file has them all.</extracomment>
            <translation>
                <numerusform>… %n weiteres Zeichen; die Sitzungsdatei enthält alle.</numerusform>
                <numerusform>… %n weitere Zeichen; die Sitzungsdatei enthält alle.</numerusform>
            </translation>
        </message>
        <message>
            <location filename="../../app/views/diagnosis/differential_page.py" />
            <source>○ before any finding</source>
            <translation>○ vor jedem Befund</translation>
        </message>
    </context>
</TS>
