extension ProjectionRegistry {
    /// Those of every store. A new kind of state is a folder with its projection, and a line here.
    package static let store = ProjectionRegistry([
        RecordProjection.self,
        LinkProjection.self,
        SharingProjection.self,
        NotificationProjection.self,
        AssetProjection.self,
        ZoneProjection.self,
        UserProjection.self,
        SchemaProjection.self,
        IndexProjection.self,
        MarkProjection.self,
        HistoryProjection.self,
        DeletionProjection.self,
        ActivityProjection.self,
        OperationProjection.self,
        RequestProjection.self,
        IdentityProjection.self,
        SubscriptionProjection.self,
        DeviceProjection.self,
    ])
}
