"""The attributes that the Basic Application Level Confidentiality Profile removes or replaces.

DICOM PS3.15 2024b, table E.1-1, by keyword (PS3.6), with repeating groups: "OverlayData" stands
for (60xx,3000). Private attributes, which the profile removes as well, have no keyword: see
`identifiers.is_identifying`. Grouped by what else is done about their values.
"""

from __future__ import annotations


def _table(text: str) -> frozenset[str]:
    return frozenset(text.split())


PERSONS = _table("""
    ConsultingPhysicianName ContentCreatorName CurrentObserverTrial DistributionName
    HumanPerformerName InterpretationAuthor InterpretationRecorder InterpretationTranscriber
    NameOfPhysiciansReadingStudy NamesOfIntendedRecipientsOfResults OperatorsName OrderEnteredBy
    OtherPatientNames PatientBirthName PatientMotherBirthName PatientName PerformingPhysicianName
    PersonName PhysicianApprovingInterpretation PhysiciansOfRecord ROIInterpreter
    ReferringPhysicianName RequestingPhysician ResponsiblePerson ReviewerName
    ScheduledPerformingPhysicianName SelectorPNValue VerbalSourceTrial VerifyingObserverName
""")
"""Names of people: their parts are looked for elsewhere as well."""

NUMBERS = _table("""
    AccessionNumber AddressTrial AdmissionID BarcodeValue CassetteID
    ClinicalTrialCoordinatingCenterName ClinicalTrialProtocolEthicsCommitteeApprovalNumber
    ClinicalTrialProtocolEthicsCommitteeName ClinicalTrialProtocolID ClinicalTrialSeriesID
    ClinicalTrialSiteID ClinicalTrialSiteName ClinicalTrialSponsorName ClinicalTrialSubjectID
    ClinicalTrialSubjectReadingID ClinicalTrialTimePointID ContainerComponentID
    ContainerIdentifier CountryOfResidence CurrentPatientLocation DestinationAE DetectorID
    DeviceAlternateIdentifier DeviceSerialNumber DistributionAddress
    FillerOrderNumberImagingServiceRequest GantryID GeneratorID HumanPerformerOrganization
    InstitutionAddress InstitutionName InstitutionalDepartmentName InsurancePlanIdentification
    InterpretationID InterpretationIDIssuer IssuerOfAdmissionID IssuerOfClinicalTrialProtocolID
    IssuerOfClinicalTrialSeriesID IssuerOfClinicalTrialSiteID IssuerOfClinicalTrialSubjectID
    IssuerOfClinicalTrialSubjectReadingID IssuerOfClinicalTrialTimePointID IssuerOfPatientID
    IssuerOfServiceEpisodeID LensSerialNumber ManufacturerDeviceIdentifier MedicalRecordLocator
    ModifyingDeviceID ModifyingSystem NetworkID OrderCallbackPhoneNumber
    OrderCallbackTelecomInformation OrderEntererLocation Originator OtherPatientIDs PatientAddress
    PatientID PatientInstitutionResidence PatientTelecomInformation PatientTelephoneNumbers
    PerformedLocation PerformedProcedureStepID PerformedStationAETitle PerformedStationName
    PersonAddress PersonTelecomInformation PersonTelephoneNumbers
    PlacerOrderNumberImagingServiceRequest PlateID RTAccessoryDeviceSlotID RTAccessoryHolderSlotID
    ReceivingAE ReferringPhysicianAddress ReferringPhysicianTelephoneNumbers RegionOfResidence
    RequestedProcedureID RequestedProcedureLocation RequestingAE RequestingService
    ResponsibleOrganization ResultsID ResultsIDIssuer RetrieveAETitle
    ScheduledPatientInstitutionResidence ScheduledProcedureStepID ScheduledProcedureStepLocation
    ScheduledStationAETitle ScheduledStationName ScheduledStudyLocation
    ScheduledStudyLocationAETitle ServiceEpisodeID SlideIdentifier SourceOfPreviousValues
    SourceSerialNumber SpecimenAccessionNumber SpecimenIdentifier StationAETitle StationName
    StudyID StudyIDIssuer TelephoneNumberTrial TopicAuthor TreatmentMachineName
    UniqueDeviceIdentifier VerifyingOrganization XRayDetectorID XRaySourceID
""")
"""Ids, numbers, places, organisations: looked for elsewhere as they stand."""

TEXTS = _table("""
    AcquisitionComments AcquisitionDeviceProcessingDescription AcquisitionProtocolDescription
    AdditionalPatientHistory AdmittingDiagnosesDescription AnnotationGroupDescription Arbitrary
    BeamDescription BolusDescription CameraOwnerName ClinicalTrialSeriesDescription
    ClinicalTrialTimePointDescription CommentsOnRadiationDose CommentsOnThePerformedProcedureStep
    CompensatorDescription ConceptualVolumeCombinationDescription ConceptualVolumeDescription
    ConfidentialityConstraintOnPatientDataDescription ContainerDescription ContributionDescription
    DecompositionDescription DerivationDescription DeviceDescription DischargeDiagnosisDescription
    DoseReferenceDescription EntityDescription EquipmentFrameOfReferenceDescription
    FilterLookupTableDescription FixationDeviceDescription FractionGroupDescription
    FractionationNotes FrameComments GPSMapDatum GPSSatellites IdentifyingComments ImageComments
    ImagePresentationComments ImagingServiceRequestComments Impressions InterlockDescription
    InterlockOriginDescription InterpretationDiagnosisDescription InterpretationText LabelText
    LensMake LensModel LongDeviceDescription ModifiedImageDescription
    MultienergyAcquisitionDescription OverlayComments PatientComments PatientSetupPhotoDescription
    PatientTreatmentPreparationMethodDescription
    PatientTreatmentPreparationProcedureParameterDescription PerformedProcedureStepDescription
    PositionAcquisitionTemplateDescription PrescriptionDescription PrescriptionNotes
    PriorTreatmentDoseDescription PyramidDescription ROIDescription ROIGenerationDescription
    ROIObservationDescription RTPhysicianIntentNarrative RTPlanDescription
    RadiationGenerationModeDescription ReasonForOmissionDescription ReasonForStudy
    ReasonForSuperseding ReasonForTheImagingServiceRequest ReasonForTheRequestedProcedure
    ReasonForVisit RequestedProcedureComments RequestedProcedureDescription
    RequestedSeriesDescription RespiratoryMotionCompensationTechniqueDescription ResultsComments
    ScheduledProcedureStepDescription SelectorLTValue SelectorSTValue SelectorUTValue
    SeriesDescription ServiceEpisodeDescription SetupTechniqueDescription
    ShieldingDeviceDescription SpecimenDetailedDescription SpecimenShortDescription
    StructureSetDescription StudyComments StudyDescription TextComments TopicSubject
    TreatmentTechniqueNotes TreatmentToleranceViolationDescription VisitComments
    WaveformFilterDescription XRayDetectorLabel
""")
"""Free text: looked for elsewhere whole, since its single words identify nobody."""

DATES = _table("""
    AcquisitionDate AcquisitionDateTime AdmittingDate ApprovalStatusDateTime AssertionDateTime
    AssertionExpirationDateTime AttributeModificationDateTime BeamHoldTransitionDateTime
    CalibrationDate CalibrationDateTime ContentDate ContextGroupLocalVersion ContextGroupVersion
    ContributionDateTime CreationDate CurveDate Date DateOfDocumentOrVerbalTransactionTrial
    DateOfInstallation DateOfLastCalibration DateOfLastDetectorCalibration DateOfManufacture
    DateOfSecondaryCapture DateTime DateTimeOfLastCalibration DecayCorrectionDateTime
    DigitalSignatureDateTime DischargeDate EffectiveDateTime EndAcquisitionDateTime
    EthicsCommitteeApprovalEffectivenessEndDate EthicsCommitteeApprovalEffectivenessStartDate
    ExclusionStartDateTime ExpectedCompletionDateTime FindingsGroupRecordingDateTrial
    FirstTreatmentDate FrameAcquisitionDateTime FrameReferenceDateTime FunctionalSyncPulse
    GPSDateStamp GPSTimeStamp HL7DocumentEffectiveTime HangingProtocolCreationDateTime
    ImpedanceMeasurementDateTime InformationIssueDateTime InstanceCoercionDateTime
    InstanceCreationDate InstructionPerformedDateTime IntendedPhaseEndDate IntendedPhaseStartDate
    InterlockDateTime InterpretationApprovalDate InterpretationRecordedDate
    InterpretationTranscriptionDate IssueDateOfImagingServiceRequest LastMenstrualDate
    ModifiedImageDate MostRecentTreatmentDate ObservationDateTime ObservationDateTrial
    ObservationStartDateTime OverlayDate OverrideDateTime ParticipationDateTime PatientBirthDate
    PerformedProcedureStepEndDate PerformedProcedureStepEndDateTime
    PerformedProcedureStepStartDate PerformedProcedureStepStartDateTime PresentationCreationDate
    ProcedureStepCancellationDateTime ProductExpirationDateTime ROIDateTime ROIObservationDateTime
    RTPlanDate RadiopharmaceuticalStartDateTime RadiopharmaceuticalStopDateTime
    RecordedRTControlPointDateTime ReferencedDateTime ReviewDate SOPAuthorizationDateTime
    SafePositionExitDate SafePositionReturnDate ScheduledAdmissionDate ScheduledDischargeDate
    ScheduledProcedureStepEndDate ScheduledProcedureStepExpirationDateTime
    ScheduledProcedureStepModificationDateTime ScheduledProcedureStepStartDate
    ScheduledProcedureStepStartDateTime ScheduledStudyStartDate ScheduledStudyStopDate
    SelectorDAValue SelectorDTValue SeriesDate SourceEndDateTime SourceStartDateTime
    SourceStrengthReferenceDate StartAcquisitionDateTime StructureSetDate StudyArrivalDate
    StudyCompletionDate StudyDate StudyReadDate StudyVerifiedDate SubstanceAdministrationDateTime
    TemplateLocalVersion TemplateVersion TreatmentControlPointDate TreatmentDate
    TreatmentToleranceViolationDateTime VerificationDateTime
""")
"""Dates: looked for elsewhere in every notation."""

UIDS = _table("""
    AcquisitionUID AffectedSOPInstanceUID AnnotationGroupUID ConcatenationUID ConceptualVolumeUID
    ConstituentConceptualVolumeUID DeviceUID DigitalSignatureUID DimensionOrganizationUID
    DoseReferenceUID DosimetricObjectiveUID FailedSOPInstanceUIDList FiducialUID
    FrameOfReferenceUID InstanceCreatorUID IrradiationEventUID LargePaletteColorLookupTableUID
    ManufacturerDeviceClassUID MediaStorageSOPInstanceUID MultiplexGroupUID
    ObservationSubjectUIDTrial ObservationUID PaletteColorLookupTableUID PatientSetupUID
    PresentationDisplayCollectionUID PresentationSequenceCollectionUID PyramidUID
    RTTreatmentPhaseUID ReferencedConceptualVolumeUID ReferencedDoseReferenceUID
    ReferencedDosimetricObjectiveUID ReferencedFiducialsUID ReferencedFrameOfReferenceUID
    ReferencedGeneralPurposeScheduledProcedureStepTransactionUID ReferencedObservationUIDTrial
    ReferencedSOPInstanceUID ReferencedSOPInstanceUIDInFile ReferencedTreatmentPositionGroupUID
    RelatedFrameOfReferenceUID RequestedSOPInstanceUID SOPInstanceUID SeriesInstanceUID
    SourceConceptualVolumeUID SourceFrameOfReferenceUID SpecimenUID StorageMediaFileSetUID
    StudyInstanceUID SynchronizationFrameOfReferenceUID TargetUID TemplateExtensionCreatorUID
    TemplateExtensionOrganizationUID TrackingUID TransactionUID TreatmentPositionGroupUID
    TreatmentSessionUID UID
""")
"""UIDs: these are removed wherever they stand, whatever they belong to."""

REST = _table("""
    AcquisitionContextSequence AcquisitionFieldOfViewLabel AcquisitionTime
    ActualHumanPerformersSequence AdmittingDiagnosesCodeSequence AdmittingTime Allergies
    AnnotationGroupLabel AuthorObserverSequence BranchOfService CalibrationTime
    CertificateOfSigner CertifiedTimestamp ClinicalTrialProtocolName
    ConsultingPhysicianIdentificationSequence ContentCreatorIdentificationCodeSequence
    ContentSequence ContentTime ContrastBolusAgent ContrastBolusStartTime ContrastBolusStopTime
    CreationTime CurveData CurveTime CustodialOrganizationSequence DataSetTrailingPadding
    DeviceLabel DeviceSettingDescription DigitalSignaturesSequence DischargeTime
    DisplacementReferenceLabel EncapsulatedDocument EntityLabel EntityLongLabel EntityName
    EthnicGroup FindingsGroupRecordingTimeTrial FlowIdentifier FlowIdentifierSequence
    FrameOriginTimestamp GPSAltitude GPSAltitudeRef GPSAreaInformation GPSDOP GPSDestBearing
    GPSDestBearingRef GPSDestDistance GPSDestDistanceRef GPSDestLatitude GPSDestLatitudeRef
    GPSDestLongitude GPSDestLongitudeRef GPSDifferential GPSImgDirection GPSImgDirectionRef
    GPSLatitude GPSLatitudeRef GPSLongitude GPSLongitudeRef GPSMeasureMode GPSProcessingMethod
    GPSSpeed GPSSpeedRef GPSStatus GPSTrack GPSTrackRef GPSVersionID GraphicAnnotationSequence
    IconImageSequence InstanceCreationTime InstanceOriginStatus InstitutionCodeSequence
    InstitutionalDepartmentTypeCodeSequence IntendedFractionStartTime
    IntendedRecipientsOfResultsIdentificationSequence InterpretationApprovalTime
    InterpretationApproverSequence InterpretationRecordedTime InterpretationTranscriptionTime
    InterventionDrugStartTime InterventionDrugStopTime IssueTimeOfImagingServiceRequest
    IssuerOfAdmissionIDSequence IssuerOfServiceEpisodeIDSequence
    IssuerOfTheContainerIdentifierSequence IssuerOfTheSpecimenIdentifierSequence LensSpecification
    MAC MakerNote MedicalAlerts MilitaryRank ModifiedAttributesSequence ModifiedImageTime
    NonconformingDataElementValue NonconformingModifiedAttributesSequence ObservationTimeTrial
    Occupation OperatorIdentificationSequence OriginalAttributesSequence
    OtherClinicalTrialProtocolIDsSequence OtherPatientIDsSequence OverlayData OverlayTime
    ParticipantSequence PatientAge PatientBirthTime PatientInsurancePlanCodeSequence
    PatientPrimaryLanguageCodeSequence PatientPrimaryLanguageModifierCodeSequence
    PatientReligiousPreference PatientSex PatientSexNeutered PatientSize PatientState
    PatientTransportArrangements PatientWeight PerformedProcedureStepEndTime
    PerformedProcedureStepStartTime PerformedStationGeographicLocationCodeSequence
    PerformedStationNameCodeSequence PerformingPhysicianIdentificationSequence
    PersonIdentificationCodeSequence PhysiciansOfRecordIdentificationSequence
    PhysiciansReadingStudyIdentificationSequence PositionAcquisitionTemplateName PreMedication
    PregnancyStatus PrescriptionNotesSequence PresentationCreationTime ProtocolName PyramidLabel
    ROICreatorSequence ROIInterpreterSequence ROIName ROIObservationLabel RTPlanLabel RTPlanName
    RTPlanTime RTPrescriptionLabel RTToleranceSetLabel RTTreatmentApproachLabel
    RadiationDoseIdentificationLabel RadiationDoseInVivoMeasurementLabel
    RadiationGenerationModeLabel RadiopharmaceuticalStartTime RadiopharmaceuticalStopTime
    ReasonForRequestedProcedureCodeSequence ReasonForTheAttributeModification
    ReasonForVisitCodeSequence ReferencedDigitalSignatureSequence ReferencedImageSequence
    ReferencedPatientAliasSequence ReferencedPatientPhotoSequence ReferencedPatientSequence
    ReferencedPerformedProcedureStepSequence ReferencedSOPInstanceMACSequence
    ReferencedStudySequence ReferringPhysicianIdentificationSequence RequestAttributesSequence
    RequestedContrastAgent ResultsDistributionListSequence ReviewTime SafePositionExitTime
    SafePositionReturnTime ScheduledAdmissionTime ScheduledDischargeTime
    ScheduledHumanPerformersSequence ScheduledPerformingPhysicianIdentificationSequence
    ScheduledProcedureStepEndTime ScheduledProcedureStepStartTime
    ScheduledStationGeographicLocationCodeSequence ScheduledStationNameCodeSequence
    ScheduledStudyStartTime ScheduledStudyStopTime SelectorAEValue SelectorASValue SelectorLOValue
    SelectorOBValue SelectorSHValue SelectorTMValue SelectorUNValue SelectorURValue SeriesTime
    SmokingStatus SourceIdentifier SourceImageSequence SourceManufacturer
    SourceStrengthReferenceTime SpecialNeeds SpecimenPreparationSequence StructureSetLabel
    StructureSetName StructureSetTime StudyArrivalTime StudyCompletionTime StudyReadTime StudyTime
    StudyVerifiedTime TextString Time TimeOfDocumentCreationOrVerbalTransactionTrial
    TimeOfLastCalibration TimeOfLastDetectorCalibration TimeOfSecondaryCapture
    TimezoneOffsetFromUTC TopicKeywords TopicTitle TransducerIdentificationSequence
    TreatmentControlPointTime TreatmentPositionGroupLabel TreatmentSite TreatmentSites
    TreatmentTime UDISequence UserContentLabel UserContentLongLabel
    VerbalSourceIdentifierCodeSequenceTrial VerifyingObserverIdentificationCodeSequence
    VerifyingObserverSequence
""")
"""Times, codes, sequences, labels: removed under their names, but not looked for elsewhere,
since their values ("Heart", "101500", "Iodine") are ordinary words and numbers."""

PROFILE = PERSONS | NUMBERS | TEXTS | DATES | UIDS | REST
"""All of them."""
