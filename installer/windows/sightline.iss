; Inno Setup 6. windows_packages.py calls it: ISCC /DVersion=.. /DSource=.. /DOut=.. /DTitle=.. sightline.iss
; Silent: setup.exe /VERYSILENT /SUPPRESSMSGBOXES [/ALLUSERS | /CURRENTUSER] [/DIR="..."]
; One version and flavour at a time: a later one, or the other flavour, replaces it. The .zip is for more.
; Removing keeps settings, conversations, findings and models, also when silent, unless told:
; unins000.exe /DELETEDATA deletes those of the user who runs it.

[Setup]
AppId={{5B7C1D52-6E0C-4B77-9B7D-0B8F0C1E6A55}
AppName=Sightline
AppVersion={#Version}
AppVerName=Sightline {#Version}
AppPublisher=Sightline
DefaultDirName={autopf}\Sightline
DefaultGroupName=Sightline
DisableProgramGroupPage=yes
PrivilegesRequired=lowest
PrivilegesRequiredOverridesAllowed=dialog commandline
ArchitecturesAllowed=x64compatible
ArchitecturesInstallIn64BitMode=x64compatible
LicenseFile={#Source}\LICENSE
OutputDir={#Out}
OutputBaseFilename={#Title}
Compression=lzma2/max
SolidCompression=yes
ChangesAssociations=yes
ChangesEnvironment=yes
UninstallDisplayIcon={app}\sightlinew.exe
WizardStyle=modern
#ifdef SignTool
SignTool=sightline
SignedUninstaller=yes
#endif

[Languages]
Name: "en"; MessagesFile: "compiler:Default.isl"
Name: "de"; MessagesFile: "compiler:Languages\German.isl"

[Tasks]
Name: "dicom"; Description: "{cm:AssocFileExtension,Sightline,.dcm}"
Name: "path"; Description: "sightline on the command line (PATH)"; Flags: unchecked
Name: "desktop"; Description: "{cm:CreateDesktopIcon}"; Flags: unchecked

[InstallDelete]
; Files of an earlier version must not be found by this one.
Type: filesandordirs; Name: "{app}\lib"

[Files]
Source: "{#Source}\*"; DestDir: "{app}"; Flags: recursesubdirs createallsubdirs ignoreversion

[Icons]
Name: "{autoprograms}\Sightline"; Filename: "{app}\sightlinew.exe"
Name: "{autodesktop}\Sightline"; Filename: "{app}\sightlinew.exe"; Tasks: desktop

[Registry]
Root: HKA; Subkey: "Software\Classes\Sightline.dicom"; ValueType: string; ValueData: "DICOM image"; Flags: uninsdeletekey
Root: HKA; Subkey: "Software\Classes\Sightline.dicom\DefaultIcon"; ValueType: string; ValueData: "{app}\sightlinew.exe,0"
Root: HKA; Subkey: "Software\Classes\Sightline.dicom\shell\open\command"; ValueType: string; ValueData: """{app}\sightlinew.exe"" ""%1"""
Root: HKA; Subkey: "Software\Classes\.dcm\OpenWithProgids"; ValueType: string; ValueName: "Sightline.dicom"; ValueData: ""; Flags: uninsdeletevalue; Tasks: dicom
Root: HKA; Subkey: "Software\Classes\.dicom\OpenWithProgids"; ValueType: string; ValueName: "Sightline.dicom"; ValueData: ""; Flags: uninsdeletevalue; Tasks: dicom
Root: HKA; Subkey: "Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{olddata};{app}"; Tasks: path; Check: not IsAdminInstallMode
Root: HKLM; Subkey: "SYSTEM\CurrentControlSet\Control\Session Manager\Environment"; ValueType: expandsz; ValueName: "Path"; ValueData: "{olddata};{app}"; Tasks: path; Check: IsAdminInstallMode

[Run]
Filename: "{app}\sightlinew.exe"; Parameters: "--demo"; Description: "{cm:LaunchProgram,Sightline}"; Flags: nowait postinstall skipifsilent unchecked

[Code]
procedure CurUninstallStepChanged(CurUninstallStep: TUninstallStep);
var
  I: Integer;
begin
  if CurUninstallStep = usPostUninstall then
    for I := 1 to ParamCount do
      if CompareText(ParamStr(I), '/DELETEDATA') = 0 then
        DelTree(ExpandConstant('{localappdata}\sightline'), True, True, True);
end;
