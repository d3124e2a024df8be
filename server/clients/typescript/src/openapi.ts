// Generated from the OpenAPI document of the server: go test ./server/events -run TestTypeScriptTypes -rewrite

export interface paths {
    "/api/v1/events/aggregates": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the aggregates of a type
         * @description Reads at most 2,000 aggregates for a page by ID, and 5,000 for one in another order.
         */
        get: operations["aggregates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the version and state of an aggregate */
        get: operations["aggregate"];
        put?: never;
        post?: never;
        /** Delete an aggregate: its stream can no longer be read or appended to, and its ID cannot be used again */
        delete: operations["delete-aggregate"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}/close": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Close a stream permanently: it can be read, but not appended to */
        post: operations["close-aggregate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the events of a stream, page by page
         * @description Reads are consistent: everything appended before is included, and a gap is an error. Events never change, so neither does a page that has a next one, read forwards.
         */
        get: operations["read-events"];
        put?: never;
        /**
         * Append events to a stream, all or none
         * @description The stream begins with its first events.
         *
         *         {"expected": 3, "commitId": "5f2c…", "events": [
         *           {"type": "OrderPaid", "data": {"amount": 71.25}, "actor": "alice", "metadata": {"ip": "…"}}]}
         *
         *     Only events and their types are required. When the stream has another version than `expected` the answer is a 409, and a 412 when a header said what is
         *     expected: `version_conflict` with the version that it has and the events since. After a time-out nobody knows whether it happened: send it again with the
         *     same `commitId`. The answer is 201, or 200 when it had happened before.
         */
        post: operations["append-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export the events of a stream as JSON Lines
         * @description The response is streamed. A response that is cut off is incomplete.
         */
        get: operations["export-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}/snapshot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the snapshot of an aggregate, as its program made it */
        get: operations["aggregate-snapshot"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the state of an aggregate at any version
         * @description Computed from the events without knowing their meaning: the last value of each field of their data, with nested objects merged. The state that a program derives is in its projections and snapshots.
         */
        get: operations["aggregate-state"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/aggregates/{type}/{id}/tail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the events of an aggregate as server-sent events
         * @description The event ID is its number in the stream, so that a reader who reconnects misses nothing. The stream need not exist yet.
         */
        get: operations["tail-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/appends": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Append events to several streams, all or none
         * @description In one transaction, at one position of the feed. A 409 `version_conflict` names the aggregate with another version. With `unless`, a 409
         *     `query_conflict` has the events that match the query and came after its position: decide again.
         */
        post: operations["append-to-several"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/correlated": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find the events with a correlation ID in a part of the feed
         * @description There is no index by correlation ID: a request searches at most 500 appends, by default the last ones, and says which. Give only one of around, before and after.
         */
        get: operations["correlated-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/event-types/{eventType}/schema": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the JSON Schema of a version of an event type */
        get: operations["event-schema"];
        /**
         * Set the JSON Schema of a version of an event type
         * @description Appends over HTTP are checked against it. Events that are stored already are not. A schema is only replaced by one that accepts every event that it accepts: otherwise
         *     the answer is 409 `schema_incompatible`, with the places in the new schema, and the change needs another version. If a type has schemas, its events must have one of their versions.
         *     Other servers notice a change within 2 seconds.
         *
         *     `x-personal-data` is a keyword of a property with personal data. Its value is the path of the person's ID in the data, such as `customerId`. The field is stored encrypted
         *     with a key of the person in all versions of the type, forever. `x-personal-metadata` is a keyword of the whole
         *     schema, with the path of the person's ID for each entry of the metadata that is personal.
         *     The answer comes when every program encrypts the fields, after at most 9 seconds.
         */
        put: operations["put-event-schema"];
        post?: never;
        /**
         * Delete the JSON Schema of a version of an event type
         * @description Events of this version are then refused if the type has schemas of other versions, and not checked if it has none. What the schema declared personal stays encrypted.
         */
        delete: operations["delete-event-schema"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/feed": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read the events of all aggregates in one stable order
         * @description Each append has one position. A reader who continues after `through` misses no events and gets none twice, however long the pause. The feed follows appends within moments.
         */
        get: operations["feed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/feed/activity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Count the appends of the last 24 hours or 7 days
         * @description Counts appends when they enter the feed, moments after they were stored. Appends have positions without gaps, so they are counted by searching the positions at the ends of the steps, whatever their number.
         */
        get: operations["feed-activity"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/feed/head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get the end of the feed */
        get: operations["feed-head"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/of-type/{eventType}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the events of a type across aggregates, in order of time
         * @description For exploration only: the index lags behind the table, so a reader who follows it may miss late events.
         */
        get: operations["events-of-type"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/projections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the projections with their active versions and failures */
        get: operations["projections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/projections/{projection}/parked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the dead-lettered aggregates of a projection */
        get: operations["parked-aggregates"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/projections/{projection}/rebuild": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rebuild all read models, compare them with the active ones, and switch
         * @description Runs in the background while appends continue; the list of projections has its progress. A new request resumes an interrupted rebuild.
         */
        post: operations["rebuild-projection"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/projections/{projection}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry dead-lettered aggregates after a fix
         * @description Returns the aggregates that still fail.
         */
        post: operations["retry-parked"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/query": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Read the events that match a query of types and tags
         * @description Strongly consistent, over all aggregates. At most 4 MB of events: use tags of single things.
         */
        post: operations["query-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/reservations/owner": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get the aggregate that has reserved a value
         * @description The value is in the body, so that it is in no log.
         */
        post: operations["owner-of-value"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subjects/{subject}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Get a person whom events have personal data of, with the aggregates */
        get: operations["event-subject"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subjects/{subject}/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Erase a person: delete the key of the person's data in events, forever
         * @description Events stay. Readers get `[forgotten]` in place of each text about the person, and null in place of other values; new events with personal data of the person are
         *     refused: 409 `subject_erased`. This server forgets the key at once, others within a minute. Repeat the request after an error.
         */
        post: operations["erase-subject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the subscriptions with their progress */
        get: operations["subscriptions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /**
         * Create a subscription whose events consumers receive over HTTP
         * @description The answer is 201, or 200 if there is such a subscription already. If it has other settings, 409 `subscription_exists`.
         */
        put: operations["create-subscription"];
        post?: never;
        /** Delete a subscription with its parked events */
        delete: operations["delete-subscription"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/acknowledge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Acknowledge events that were handled
         * @description Repeating an acknowledgment has no effect. If some tokens are refused, the answer is 409 with the code of the first of them, and the others have had their effect:
         *     `delivery_lost` means that the visibility time ended and the event was delivered again, or that it was rejected; `earlier_unacknowledged` that an earlier event
         *     of the aggregate is not acknowledged.
         */
        post: operations["acknowledge-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/discard": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Discard parked events, which are then never handled */
        post: operations["discard-parked-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/extend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Extend the visibility time of events that take longer to handle
         * @description The time is extended for all events that the consumer has of the same partition. It may be extended again and again, and also after it has ended, until the event is delivered again.
         */
        post: operations["extend-deliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/parked": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the parked events of a subscription */
        get: operations["parked-events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/receive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive events of a subscription
         * @description Any number of consumers may ask. Each event is delivered to one of them, with a token. The consumer handles the events in order, and acknowledges or rejects each
         *     within the visibility time. Until then the partition of the event is leased to it. An event is delivered after each earlier event of its aggregate was acknowledged or
         *     parked, or together with it.
         */
        post: operations["receive-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/reject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Reject events that could not be handled, to retry or park them
         * @description Later events of their aggregates that the consumer has received are withdrawn: do not handle them. They are delivered again after the rejected ones, or parked behind them.
         */
        post: operations["reject-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/reset": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Move a subscription to a feed position */
        post: operations["reset-subscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Retry parked events after a fix
         * @description The consumers try the first parked event of each aggregate within seconds, and then the others in order, until one fails.
         */
        post: operations["retry-parked-events"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/subscriptions/{subscription}/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Receive events of a subscription as server-sent events
         * @description Like receive, for as long as the connection lasts. Acknowledge events as usual: a partition whose events are not settled gets no more.
         */
        post: operations["stream-deliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/tail": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream the events of all aggregates as server-sent events
         * @description The event ID is the position up to which everything was sent, so that a reader who reconnects misses nothing.
         */
        get: operations["tail-feed"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/events/types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the types of aggregates with counts */
        get: operations["aggregate-types"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AcknowledgeRequestBody: {
            /** @description Of deliveries, in any order. */
            tokens: string[] | null;
        };
        ActivityAnswerBody: {
            /** @description Appends that entered the feed, by step. The last step is not over yet. */
            appends: number[] | null;
            /**
             * Format: date-time
             * @description Beginning of the first step: a multiple of step in UTC.
             */
            from: string;
            /**
             * Format: int64
             * @description Seconds of a step.
             */
            step: number;
            /**
             * Format: int64
             * @description Position of the feed up to which appends were counted.
             */
            through: number;
        };
        AppendAllAnswerBody: {
            /** @description The commit was already stored. */
            again: boolean;
            /** @description In the order of the request. */
            appends: components["schemas"]["EventStoreAppendedPart"][] | null;
            commit: string;
        };
        AppendAllRequestBody: {
            /** @description One for each aggregate. Appended all or none. */
            appends: components["schemas"]["EventStoreAppendPart"][] | null;
            /** @description Idempotency key of the whole append. Must not contain '#'. */
            commitId?: string;
            /** @description Refuse the append if events that match a query came after a position. */
            unless?: components["schemas"]["EventStoreUnlessBody"];
        };
        AppendAnswerBody: {
            /** @description The commit was already stored: by an earlier request, or by a try of this one whose response from the store was lost. */
            again: boolean;
            commit: string;
            /**
             * Format: int64
             * @description Number of the first event.
             */
            first: number;
            /**
             * Format: int64
             * @description Number of the last event, which is the version of the stream after the append.
             */
            version: number;
        };
        AppendRequestBody: {
            /** @description Idempotency key. Repeating the append with the same key returns the first result, forever. Must not contain '#'. */
            commitId?: string;
            /** @description Appended all or none. With a commit ID, at most 97. */
            events: components["schemas"]["EventStoreNew"][] | null;
            /** @description The expected version of the stream: a number, "none", "exists" or "any". Default: any. */
            expected?: unknown;
            /** @description Values of the aggregate that others may have from now on. */
            release?: components["schemas"]["EventStoreScopedValue"][] | null;
            /** @description Values that no other aggregate may have, such as an email address. The append fails if another one has a value. */
            reserve?: components["schemas"]["EventStoreReservedValue"][] | null;
            /** @description Refuse the append if events that match a query came after a position. */
            unless?: components["schemas"]["EventStoreUnlessBody"];
        };
        CorrelationAnswerBody: {
            /**
             * Format: int64
             * @description Last position of the feed.
             */
            end: number;
            /** @description Events with this correlation ID, the event with this ID, and events that it caused, in the order of the feed. */
            events: components["schemas"]["EventStoreFeedEvent"][] | null;
            /**
             * Format: int64
             * @description First position that was searched. To search earlier appends, pass it as before.
             */
            from: number;
            /**
             * Format: int64
             * @description Appends that could not be searched, because their events were truncated.
             */
            skipped?: number;
            /**
             * Format: int64
             * @description Last position that was searched. To search later appends, pass it as after.
             */
            to: number;
        };
        CreateSubscriptionRequestBody: {
            /**
             * Format: int64
             * @description Only events after this position of the feed. Default: 0, the beginning.
             */
            after?: number;
            /** @description Only events of aggregates of these types. Default: all. */
            aggregateTypes?: string[] | null;
            /**
             * Format: int64
             * @description Attempts to handle an event before it is parked; -1 for no limit. Default: 10.
             */
            attempts?: number;
            /** @description Only events of these types. Default: all. */
            eventTypes?: string[] | null;
            /** @description Only events that enter the feed from now on. Not with after. */
            fromEnd?: boolean;
            /**
             * Format: double
             * @description Maximum of that wait, in seconds. Default: 30.
             */
            maxRetryDelay?: number;
            /**
             * Format: int64
             * @description Parts that can be handled at the same time. The events of an aggregate are in one part. Default: 1.
             */
            partitions?: number;
            /**
             * Format: double
             * @description Upper bound of the random wait before the first retry, in seconds. It doubles with each retry. Default: 0.2.
             */
            retryDelay?: number;
            /** @description Only events that have all of these tags. */
            tags?: string[] | null;
        };
        DiscardedAnswerBody: {
            /**
             * Format: int64
             * @description Number of discarded events.
             */
            events: number;
        };
        ErrorDetail: {
            /** @description Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id' */
            location?: string;
            /** @description Error message text */
            message?: string;
            /** @description The value at the given location */
            value?: unknown;
        };
        ErrorModel: {
            /**
             * @description A human-readable explanation specific to this occurrence of the problem.
             * @example Property foo is required but is missing.
             */
            detail?: string;
            /** @description Optional list of individual error details */
            errors?: components["schemas"]["ErrorDetail"][] | null;
            /**
             * Format: uri
             * @description A URI reference that identifies the specific occurrence of the problem.
             * @example https://example.com/error-log/abc123
             */
            instance?: string;
            /**
             * Format: int64
             * @description HTTP status code
             * @example 400
             */
            status?: number;
            /**
             * @description A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
             * @example Bad Request
             */
            title?: string;
            /**
             * Format: uri
             * @description A URI reference to human-readable documentation for the error.
             * @default about:blank
             * @example https://example.com/errors/example
             */
            type: string;
        };
        EventsOfTypePageBody: {
            /** @description Cursor of the next page, if there may be one. */
            cursor?: string;
            /** @description In the order of their IDs, which is roughly that of time. */
            events: components["schemas"]["EventStoreEventOfType"][] | null;
        };
        EventsPageBody: {
            events: components["schemas"]["EventStoreEvent"][] | null;
            /** @description URL of the next page, if there may be one. */
            next?: string;
            /**
             * Format: int64
             * @description Version of the stream.
             */
            version: number;
        };
        EventStoreAggregateEvent: {
            actor?: string;
            aggregateId: string;
            aggregateType: string;
            /** @description Content in base64, if it is not JSON. */
            binary?: string;
            causationId?: string;
            /** @description Of the append that it came with. */
            commit: string;
            correlationId?: string;
            /** @description Content: any JSON. */
            data?: unknown;
            /** @description A ULID, unique. */
            id: string;
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Its number in that append, from 0.
             */
            nth: number;
            /**
             * Format: date-time
             * @description As whoever appended it says.
             */
            occurredAt: string;
            /**
             * Format: int64
             * @description How many events that append has.
             */
            of: number;
            /**
             * Format: date-time
             * @description When it was appended.
             */
            recordedAt: string;
            /**
             * Format: int64
             * @description Version of the form of its data.
             */
            schema: number;
            /**
             * Format: int64
             * @description Its number in the stream, from 1.
             */
            seq: number;
            tags?: string[] | null;
            tenant?: string;
            type: string;
        };
        EventStoreAggregateName: {
            id: string;
            type: string;
        };
        EventStoreAppendedPart: {
            /**
             * Format: int64
             * @description Number of the first event.
             */
            first: number;
            id: string;
            type: string;
            /**
             * Format: int64
             * @description Number of the last event, which is the version of the stream.
             */
            version: number;
        };
        EventStoreAppendPart: {
            events: components["schemas"]["EventStoreNew"][] | null;
            /** @description The expected version of the stream: a number, "none", "exists" or "any". Default: any. */
            expected?: unknown;
            id: string;
            /** @description Values of the aggregate that others may have from now on. */
            release?: components["schemas"]["EventStoreScopedValue"][] | null;
            /** @description Values that no other aggregate may have, such as an email address. The append fails if another one has a value. */
            reserve?: components["schemas"]["EventStoreReservedValue"][] | null;
            type: string;
        };
        EventStoreConflictProblem: {
            /**
             * Format: int64
             * @description The actual version of the stream.
             */
            actual: number;
            aggregateId: string;
            aggregateType: string;
            /**
             * @description A human-readable explanation specific to this occurrence of the problem.
             * @example Property foo is required but is missing.
             */
            detail?: string;
            /** @description Optional list of individual error details */
            errors?: components["schemas"]["ErrorDetail"][] | null;
            /**
             * Format: uri
             * @description A URI reference that identifies the specific occurrence of the problem.
             * @example https://example.com/error-log/abc123
             */
            instance?: string;
            /** @description The events after the expected version, in order, as many as fit into a response. Continue reading after the last. */
            since: components["schemas"]["EventStoreEvent"][] | null;
            /**
             * Format: int64
             * @description HTTP status code
             * @example 400
             */
            status?: number;
            /**
             * @description A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
             * @example Bad Request
             */
            title?: string;
            /**
             * Format: uri
             * @description A URI reference to human-readable documentation for the error.
             * @default about:blank
             * @example https://example.com/errors/example
             */
            type: string;
        };
        EventStoreDelivery: {
            actor?: string;
            aggregateId: string;
            aggregateType: string;
            /**
             * Format: int64
             * @description Number of this attempt, from 1.
             */
            attempt: number;
            /** @description Content in base64, if it is not JSON. */
            binary?: string;
            causationId?: string;
            /** @description Of the append that it came with. */
            commit: string;
            correlationId?: string;
            /** @description Content: any JSON. */
            data?: unknown;
            /** @description A ULID, unique. */
            id: string;
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Its number in that append, from 0.
             */
            nth: number;
            /**
             * Format: date-time
             * @description As whoever appended it says.
             */
            occurredAt: string;
            /**
             * Format: int64
             * @description How many events that append has.
             */
            of: number;
            /** @description The event was parked, and is retried on request. */
            parked?: boolean;
            /** Format: int64 */
            partition: number;
            /**
             * Format: int64
             * @description Position of its append in the feed, from 1 without gaps.
             */
            position: number;
            /**
             * Format: date-time
             * @description When it was appended.
             */
            recordedAt: string;
            /**
             * Format: int64
             * @description Version of the form of its data.
             */
            schema: number;
            /**
             * Format: int64
             * @description Its number in the stream, from 1.
             */
            seq: number;
            tags?: string[] | null;
            tenant?: string;
            /** @description For its acknowledgment or rejection. */
            token: string;
            type: string;
            /**
             * Format: date-time
             * @description End of the visibility time.
             */
            until: string;
        };
        EventStoreErasureReceipt: {
            /**
             * Format: int64
             * @description Number of aggregates with events about the person.
             */
            aggregateCount: number;
            /** @description The first 1,000 of them. */
            aggregates: components["schemas"]["EventStoreAggregateName"][] | null;
            /**
             * Format: date-time
             * @description When the key of the person was first deleted. Since then, nobody can read the personal data in the events.
             */
            erasedAt: string;
            /**
             * Format: date-time
             * @description Absent before that. Erase again after remainsUntil to get a receipt with it.
             */
            finishedAt?: string;
            /**
             * Format: int64
             * @description Reserved values about the person that this request released.
             */
            released: number;
            /**
             * Format: date-time
             * @description When snapshots and read models were first cleaned up.
             */
            remadeAt: string;
            /**
             * Format: date-time
             * @description Until when the change stream has earlier states of read models.
             */
            remainsUntil: string;
            /**
             * Format: int64
             * @description Snapshots that this request deleted.
             */
            snapshots: number;
            subject: string;
        };
        EventStoreEvent: {
            actor?: string;
            /** @description Content in base64, if it is not JSON. */
            binary?: string;
            causationId?: string;
            /** @description Of the append that it came with. */
            commit: string;
            correlationId?: string;
            /** @description Content: any JSON. */
            data?: unknown;
            /** @description A ULID, unique. */
            id: string;
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Its number in that append, from 0.
             */
            nth: number;
            /**
             * Format: date-time
             * @description As whoever appended it says.
             */
            occurredAt: string;
            /**
             * Format: int64
             * @description How many events that append has.
             */
            of: number;
            /**
             * Format: date-time
             * @description When it was appended.
             */
            recordedAt: string;
            /**
             * Format: int64
             * @description Version of the form of its data.
             */
            schema: number;
            /**
             * Format: int64
             * @description Its number in the stream, from 1.
             */
            seq: number;
            tags?: string[] | null;
            tenant?: string;
            type: string;
        };
        EventStoreEventOfType: {
            actor?: string;
            aggregateId: string;
            aggregateType: string;
            /** @description Content in base64, if it is not JSON. */
            binary?: string;
            causationId?: string;
            /** @description Of the append that it came with. */
            commit: string;
            correlationId?: string;
            /** @description Content: any JSON. */
            data?: unknown;
            /** @description A ULID, unique. */
            id: string;
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Its number in that append, from 0.
             */
            nth: number;
            /**
             * Format: date-time
             * @description As whoever appended it says.
             */
            occurredAt: string;
            /**
             * Format: int64
             * @description How many events that append has.
             */
            of: number;
            /**
             * Format: date-time
             * @description When it was appended.
             */
            recordedAt: string;
            /**
             * Format: int64
             * @description Version of the form of its data.
             */
            schema: number;
            /**
             * Format: int64
             * @description Its number in the stream, from 1.
             */
            seq: number;
            tags?: string[] | null;
            tenant?: string;
            type: string;
        };
        EventStoreFeedEvent: {
            actor?: string;
            aggregateId: string;
            aggregateType: string;
            /** @description Content in base64, if it is not JSON. */
            binary?: string;
            causationId?: string;
            /** @description Of the append that it came with. */
            commit: string;
            correlationId?: string;
            /** @description Content: any JSON. */
            data?: unknown;
            /** @description A ULID, unique. */
            id: string;
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: int64
             * @description Its number in that append, from 0.
             */
            nth: number;
            /**
             * Format: date-time
             * @description As whoever appended it says.
             */
            occurredAt: string;
            /**
             * Format: int64
             * @description How many events that append has.
             */
            of: number;
            /**
             * Format: int64
             * @description Position of its append in the feed, from 1 without gaps.
             */
            position: number;
            /**
             * Format: date-time
             * @description When it was appended.
             */
            recordedAt: string;
            /**
             * Format: int64
             * @description Version of the form of its data.
             */
            schema: number;
            /**
             * Format: int64
             * @description Its number in the stream, from 1.
             */
            seq: number;
            tags?: string[] | null;
            tenant?: string;
            type: string;
        };
        EventStoreHeadBody: {
            /** Format: date-time */
            created: string;
            id: string;
            /** @description Types of the events of the last append. */
            lastTypes?: string[] | null;
            /**
             * @description Absent while the aggregate is open.
             * @enum {string}
             */
            state?: "closed" | "deleted";
            type: string;
            /** Format: date-time */
            updated: string;
            /**
             * Format: int64
             * @description Number of its last event.
             */
            version: number;
        };
        EventStoreHeartbeat: {
            /** Format: date-time */
            now: string;
        };
        EventStoreNew: {
            actor?: string;
            /** @description Content in base64, if it is not JSON. */
            binary?: string;
            causationId?: string;
            correlationId?: string;
            /** @description Content: any JSON. */
            data?: unknown;
            metadata?: {
                [key: string]: string;
            };
            /**
             * Format: date-time
             * @description Default: now.
             */
            occurredAt?: string;
            /**
             * Format: int64
             * @description Version of the form of its data. Default: 1.
             */
            schema?: number;
            tags?: string[] | null;
            tenant?: string;
            /** @description Such as OrderPlaced; no '#'. */
            type: string;
        };
        EventStoreParkedBody: {
            aggregateId: string;
            aggregateType: string;
            /**
             * Format: int64
             * @description The last event in the read model. The next event cannot be applied.
             */
            applied: number;
            reason: string;
            /** Format: date-time */
            since: string;
            /**
             * Format: int64
             * @description Version of the aggregate.
             */
            version: number;
        };
        EventStoreParkedEventBody: {
            aggregateId: string;
            aggregateType: string;
            /** Format: int64 */
            attempts: number;
            id: string;
            /** Format: date-time */
            parked: string;
            /** Format: int64 */
            partition: number;
            /** Format: int64 */
            position: number;
            /** @description Error of the last attempt. Absent if the event waits for an earlier event of its aggregate. */
            reason?: string;
            /** Format: int64 */
            seq: number;
            type: string;
        };
        EventStorePartitionBody: {
            /** @description The process that took the partition last. */
            consumer?: string;
            /** @description Error of the last attempt. Absent if it succeeded. */
            error?: string;
            /**
             * Format: int64
             * @description Consecutive failed attempts.
             */
            failures: number;
            /** Format: int64 */
            parked: number;
            /** Format: int64 */
            partition: number;
            /** Format: int64 */
            position: number;
            /** Format: date-time */
            updated: string;
        };
        EventStoreProjectionBody: {
            name: string;
            /**
             * Format: int64
             * @description Number of dead-lettered aggregates: an event of theirs cannot be applied. Others continue.
             */
            parked: number;
            /** @description The running rebuild, or the last one within a day. */
            rebuild?: components["schemas"]["EventStoreRebuildBody"];
            /** @description The version being read. Absent if there is none yet and the projection has to be rebuilt. */
            served?: components["schemas"]["EventStoreServedBody"];
            /**
             * Format: int64
             * @description The version in the running program.
             */
            version: number;
        };
        EventStorePullOptions: {
            /**
             * Format: int64
             * @description Maximum size of their data, in bytes. The first event may exceed it. Default: 4 MB.
             */
            bytes?: number;
            /** @description Name of the consumer, for the list of subscriptions. */
            consumer?: string;
            /**
             * Format: int64
             * @description Maximum number of events. Default: 10.
             */
            events?: number;
            /**
             * Format: double
             * @description Visibility time: seconds until events that were not acknowledged are delivered again. Default: 30.
             */
            visible?: number;
        };
        EventStoreQueryConflictProblem: {
            /**
             * @description A human-readable explanation specific to this occurrence of the problem.
             * @example Property foo is required but is missing.
             */
            detail?: string;
            /** @description Optional list of individual error details */
            errors?: components["schemas"]["ErrorDetail"][] | null;
            /**
             * Format: uri
             * @description A URI reference that identifies the specific occurrence of the problem.
             * @example https://example.com/error-log/abc123
             */
            instance?: string;
            /** @description After all of these events. */
            position: string;
            /** @description The events that match the query and came after the position, as many as fit into a response. */
            since: components["schemas"]["EventStoreAggregateEvent"][] | null;
            /**
             * Format: int64
             * @description HTTP status code
             * @example 400
             */
            status?: number;
            /**
             * @description A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
             * @example Bad Request
             */
            title?: string;
            /**
             * Format: uri
             * @description A URI reference to human-readable documentation for the error.
             * @default about:blank
             * @example https://example.com/errors/example
             */
            type: string;
        };
        EventStoreQueryItem: {
            /** @description An event must have all of them. */
            tags: string[] | null;
            /** @description Event types. Default: all. */
            types?: string[] | null;
        };
        EventStoreRebuildBody: {
            /**
             * Format: int64
             * @description Aggregates completed in this stage.
             */
            aggregates: number;
            /** Format: date-time */
            began: string;
            /**
             * Format: int64
             * @description Read models that differ from the active ones.
             */
            different: number;
            /** Format: date-time */
            ended?: string;
            /** @description Why it ended without a switch. Rebuild again to resume. */
            error?: string;
            /**
             * Format: int64
             * @description Applied.
             */
            events: number;
            /**
             * Format: int64
             * @description Read models that lack events, because one cannot be applied.
             */
            fewer: number;
            running: boolean;
            /**
             * Format: int64
             * @description Read models that equal the active ones.
             */
            same: number;
            /** @description build, compare or follow. */
            stage?: string;
            /**
             * Format: int64
             * @description Read models that have no active counterpart.
             */
            unserved: number;
        };
        EventStoreRefusedProblem: {
            /**
             * @description A human-readable explanation specific to this occurrence of the problem.
             * @example Property foo is required but is missing.
             */
            detail?: string;
            /** @description Optional list of individual error details */
            errors?: components["schemas"]["ErrorDetail"][] | null;
            /**
             * Format: uri
             * @description A URI reference that identifies the specific occurrence of the problem.
             * @example https://example.com/error-log/abc123
             */
            instance?: string;
            /** @description The others, in the order of the request. */
            refused: components["schemas"]["EventStoreRefusedToken"][] | null;
            /**
             * Format: int64
             * @description Number of tokens that had their effect, now or before.
             */
            settled: number;
            /**
             * Format: int64
             * @description HTTP status code
             * @example 400
             */
            status?: number;
            /**
             * @description A short, human-readable summary of the problem type. This value should not change between occurrences of the error.
             * @example Bad Request
             */
            title?: string;
            /**
             * Format: uri
             * @description A URI reference to human-readable documentation for the error.
             * @default about:blank
             * @example https://example.com/errors/example
             */
            type: string;
        };
        EventStoreRefusedToken: {
            /** @enum {string} */
            code: "invalid_token" | "delivery_lost" | "earlier_unacknowledged";
            detail: string;
            token: string;
        };
        EventStoreReservedValue: {
            /** @description Such as email. */
            scope: string;
            /** @description A person. The value is about this person, and is released when the person is erased. */
            subject?: string;
            /** @description Stored as a keyed hash. */
            value: string;
        };
        EventStoreSchemaBody: {
            /** Format: date-time */
            created: string;
            /** @description JSON Schema 2020-12. */
            schema: unknown;
            type: string;
            /** Format: date-time */
            updated: string;
            /** Format: int64 */
            version: number;
            /** @description All versions that have a schema, in ascending order. */
            versions: number[] | null;
        };
        EventStoreScopedValue: {
            /** @description Such as email. */
            scope: string;
            /** @description Stored as a keyed hash. */
            value: string;
        };
        EventStoreServedBody: {
            /**
             * Format: int64
             * @description The previous version, whose read models are kept until they are removed.
             */
            previous?: number;
            /** Format: date-time */
            since: string;
            /** Format: int64 */
            version: number;
        };
        EventStoreSnapshotBody: {
            /** @description The state in base64, if it is not JSON. */
            binary?: string;
            /** Format: date-time */
            made: string;
            /**
             * Format: int64
             * @description Version of the reducer that made the snapshot.
             */
            reducer: number;
            state?: unknown;
            /**
             * Format: int64
             * @description Number of the last event included.
             */
            version: number;
        };
        EventStoreStateBody: {
            /**
             * Format: date-time
             * @description When that event was recorded.
             */
            at?: string;
            /** @description The last value of each field in the events. */
            fields: {
                [key: string]: unknown;
            };
            /**
             * Format: int64
             * @description Number of events that add nothing, because their data is not an object.
             */
            silent: number;
            /**
             * Format: int64
             * @description Number of the last event included.
             */
            version: number;
        };
        EventStoreSubjectBody: {
            /** @description Aggregates with events about the person. */
            aggregates: components["schemas"]["EventStoreAggregateName"][] | null;
            /**
             * Format: date-time
             * @description When the first event with personal data of the person was appended.
             */
            created: string;
            /** @description Cursor of the next page of aggregates, if there may be one. */
            cursor?: string;
            /**
             * Format: date-time
             * @description When the key of the person was deleted. Absent if the person was not erased.
             */
            erasedAt?: string;
            /**
             * Format: date-time
             * @description When the last erasure found nothing left, not in the change stream either.
             */
            finishedAt?: string;
            subject: string;
        };
        EventStoreSubscriptionBody: {
            /** Format: date-time */
            created: string;
            /**
             * Format: int64
             * @description Events handled, including repetitions.
             */
            handled: number;
            /**
             * Format: int64
             * @description Events that consumers have received and not settled, while their visibility time lasts.
             */
            inFlight?: number;
            /**
             * Format: int64
             * @description Number of appends in the feed after that position.
             */
            lag: number;
            name: string;
            /**
             * Format: int64
             * @description Parked events: those that could not be handled, and later events of their aggregates.
             */
            parked: number;
            /** @description Those that were ever consumed. */
            partitions: components["schemas"]["EventStorePartitionBody"][] | null;
            /**
             * Format: int64
             * @description Feed position up to which all events are handled or parked.
             */
            position: number;
            /** @description Consumers receive its events over HTTP. Otherwise a program runs it. */
            pulled?: boolean;
            /**
             * Format: date-time
             * @description When a consumer last recorded progress.
             */
            updated?: string;
        };
        EventStoreTypeBody: {
            /**
             * Format: int64
             * @description Aggregates ever created.
             */
            aggregates: number;
            /** Format: int64 */
            closed: number;
            /** Format: int64 */
            deleted: number;
            /** Format: int64 */
            events: number;
            /**
             * Format: date-time
             * @description Time of the last append.
             */
            lastAt?: string;
            type: string;
        };
        EventStoreUnlessBody: {
            /** @description The position of the query's response. Default: the append is refused if any event matches. */
            after?: string;
            query: components["schemas"]["EventStoreQueryItem"][] | null;
        };
        ExtendedAnswerBody: {
            /**
             * Format: date-time
             * @description The visibility time does not end before.
             */
            until: string;
        };
        ExtendRequestBody: {
            /** @description Of deliveries. */
            tokens: string[] | null;
            /**
             * Format: double
             * @description Seconds from now until the events may be delivered again. A time that ends later already is not shortened.
             */
            visible: number;
        };
        FeedHeadAnswerBody: {
            /** @description Why lagSeconds is null. */
            lagReason?: string;
            /**
             * Format: double
             * @description Upper bound of the age of the oldest append that this server has yet to add to the feed. Null if unknown here; see lagReason.
             */
            lagSeconds: number | null;
            /**
             * Format: int64
             * @description Position of the last append in the feed.
             */
            position: number;
            /**
             * Format: date-time
             * @description When that append entered the feed.
             */
            updated?: string;
        };
        FeedPageBody: {
            /** @description In the order of the feed. Events of an aggregate keep their order. */
            events: components["schemas"]["EventStoreFeedEvent"][] | null;
            /**
             * Format: int64
             * @description The page has all matching events up to this position. Pass it as after of the next request.
             */
            through: number;
            /** @description The page reaches the end of the feed. */
            tip: boolean;
        };
        HeadsAnswerBody: {
            /** @description In the requested order. A page may have fewer aggregates than limit, or none, and a cursor. */
            aggregates: components["schemas"]["EventStoreHeadBody"][] | null;
            /** @description Cursor of the next page, if there may be one. */
            cursor?: string;
            /** @description There are more aggregates than are sorted. Narrow the list with prefix, or sort by ID. */
            partial?: boolean;
            /**
             * Format: int64
             * @description Number of aggregates that were read for this page, in any state.
             */
            scanned: number;
        };
        Item: {
            id: string;
            type: string;
        };
        OwnerAnswerBody: {
            /** @description The aggregate, as type/id. */
            owner: string;
        };
        ParkedAnswerBody: {
            parked: components["schemas"]["EventStoreParkedBody"][] | null;
        };
        ParkedEventsAnswerBody: {
            /** @description There are more. */
            more: boolean;
            /** @description Sorted by partition and position, at most 1,000. */
            parked: components["schemas"]["EventStoreParkedEventBody"][] | null;
        };
        ParkedRequestBody: {
            /** @description Default: all. */
            aggregates?: components["schemas"]["Item"][] | null;
        };
        ProjectionsAnswerBody: {
            /**
             * Format: int64
             * @description Position of the last append in the feed.
             */
            feed: number;
            /** @description The projections of the running program, sorted by name. */
            projections: components["schemas"]["EventStoreProjectionBody"][] | null;
        };
        PutSchemaRequestBody: {
            /** @description JSON Schema 2020-12, at most 64 KB, with at most 1,000 nested schemas. References are local and must not recur. */
            schema: unknown;
        };
        QueryAnswerBody: {
            /** @description In an order in which they can have happened. */
            events: components["schemas"]["EventStoreAggregateEvent"][] | null;
            /** @description After these events: for after of a later query, and unless of an append. */
            position: string;
        };
        QueryRequestBody: {
            /** @description The position of an earlier response: only later events. */
            after?: string;
            /** @description An event matches the query if it matches one of these. */
            query: components["schemas"]["EventStoreQueryItem"][] | null;
        };
        ReceiveAnswerBody: {
            /** @description Those of an aggregate are in order. Empty if there were none in time. */
            events: components["schemas"]["EventStoreDelivery"][] | null;
        };
        ReceiveRequestBody: {
            /**
             * Format: int64
             * @description Maximum size of their data, in bytes. The first event may exceed it. Default: 4 MB.
             */
            bytes?: number;
            /** @description Name of the consumer, for the list of subscriptions. */
            consumer?: string;
            /**
             * Format: int64
             * @description Maximum number of events. Default: 10.
             */
            events?: number;
            /**
             * Format: double
             * @description Visibility time: seconds until events that were not acknowledged are delivered again. Default: 30.
             */
            visible?: number;
            /**
             * Format: double
             * @description Seconds to wait for events if there are none. Default: 0.
             */
            wait?: number;
        };
        RejectRequestBody: {
            /** @description Park the events without further attempts. Default: retry until the attempts of the subscription are used up. */
            park?: boolean;
            /** @description Why the events could not be handled, for people. */
            reason: string;
            /** @description Of deliveries. */
            tokens: string[] | null;
        };
        ResetRequestBody: {
            /**
             * Format: int64
             * @description Handle events after this feed position; 0 for all.
             */
            position: number;
        };
        RetriedAnswerBody: {
            /**
             * Format: int64
             * @description Number of aggregates whose parked events will be tried again.
             */
            aggregates: number;
        };
        SettledAnswerBody: {
            /**
             * Format: int64
             * @description Number of tokens.
             */
            settled: number;
        };
        SubscriptionsAnswerBody: {
            /**
             * Format: int64
             * @description Position of the last append in the feed.
             */
            head: number;
            /** @description Sorted by name. */
            subscriptions: components["schemas"]["EventStoreSubscriptionBody"][] | null;
        };
        TypesAnswerBody: {
            /** @description Sorted by name. Counts follow appends within moments. */
            types: components["schemas"]["EventStoreTypeBody"][] | null;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    aggregates: {
        parameters: {
            query: {
                /** @description From the previous page. */
                cursor?: string;
                /** @description Maximum number of results. */
                limit?: number;
                /** @description Only IDs that begin with this. Case-sensitive. */
                prefix?: string;
                /** @description Order: by ID, time of the last append or number of events; with - in descending order. By ID, every aggregate is reached. Otherwise only the first 5,000 by ID that match prefix are sorted; partial says if there are more. */
                sort?: "id" | "-id" | "updated" | "-updated" | "events" | "-events";
                /** @description Default: all. */
                state?: "open" | "closed" | "deleted";
                /** @description Type of the aggregates. */
                type: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeadsAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    aggregate: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreHeadBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "delete-aggregate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "close-aggregate": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "read-events": {
        parameters: {
            query?: {
                /** @description RFC 3339: only events recorded up to then. Not with backwards. */
                asOf?: string;
                /** @description Newest first. */
                backwards?: boolean;
                /** @description Number of the first event. */
                from?: number;
                /** @description Maximum number of events of a page. A page also ends at 4 MB. */
                limit?: number;
                /** @description Number of the last event. */
                to?: number;
            };
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsPageBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "append-events": {
        parameters: {
            query?: never;
            header?: {
                /** @description Replaces commitId. */
                "Idempotency-Key"?: string;
                /** @description The expected version of the stream, as an entity tag; * means that it must exist. Replaces expected. */
                "If-Match"?: string;
                /** @description *: the stream must have no events. Replaces expected. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AppendRequestBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppendAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description The stream has another version, or is closed. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["EventStoreConflictProblem"];
                };
            };
            /** @description The stream has another version, or is closed. */
            412: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["EventStoreConflictProblem"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "export-events": {
        parameters: {
            query?: {
                /** @description RFC 3339: only events recorded up to then. Not with backwards. */
                asOf?: string;
                /** @description Newest first. */
                backwards?: boolean;
                /** @description Number of the first event. */
                from?: number;
                /** @description Number of the last event. */
                to?: number;
            };
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/jsonl": unknown;
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "aggregate-snapshot": {
        parameters: {
            query?: {
                /** @description The last snapshot without an event after this one. Default: the last of all. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreSnapshotBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "aggregate-state": {
        parameters: {
            query?: {
                /** @description After this event. Default: after the last. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreStateBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "tail-events": {
        parameters: {
            query?: {
                /** @description The number of the last event that was seen, if there is no Last-Event-ID; 0 for all. Default: only new events. */
                after?: number;
            };
            header?: {
                /** @description The number of the last event that was seen. Browsers send it when they reconnect. */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description Percent-encoded if it contains characters with a meaning in paths. */
                id: string;
                /** @description Type of the aggregate. */
                type: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": ({
                        data: components["schemas"]["EventStoreHeartbeat"];
                        /**
                         * @description The event name.
                         * @constant
                         */
                        event: "beat";
                        /** @description The event ID. */
                        id?: number;
                        /** @description The retry time in milliseconds. */
                        retry?: number;
                    } | {
                        data: components["schemas"]["EventStoreEvent"];
                        /**
                         * @description The event name.
                         * @constant
                         */
                        event: "event";
                        /** @description The event ID. */
                        id?: number;
                        /** @description The retry time in milliseconds. */
                        retry?: number;
                    })[];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "append-to-several": {
        parameters: {
            query?: never;
            header?: {
                /** @description Replaces commitId. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AppendAllRequestBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AppendAllAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description A stream has another version or is closed, a value is taken, or events match the query. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["EventStoreQueryConflictProblem"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "correlated-events": {
        parameters: {
            query: {
                /** @description Search the appends after this position of the feed. */
                after?: number;
                /** @description RFC 3339: search the appends around this time. */
                around?: string;
                /** @description Search the appends before this position of the feed. */
                before?: number;
                /** @description A correlation ID, or the ID of an event. */
                id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CorrelationAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "event-schema": {
        parameters: {
            query?: {
                /** @description Version of the form of the data. Default: the latest. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description Type of the events. */
                eventType: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreSchemaBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "put-event-schema": {
        parameters: {
            query?: {
                /** @description Version of the form of the data. */
                version?: number;
            };
            header?: never;
            path: {
                /** @description Type of the events. */
                eventType: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PutSchemaRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreSchemaBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "delete-event-schema": {
        parameters: {
            query: {
                /** @description Version of the form of the data. */
                version: number;
            };
            header?: never;
            path: {
                /** @description Type of the events. */
                eventType: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    feed: {
        parameters: {
            query?: {
                /** @description The position up to which everything was read. Default: 0, the beginning. */
                after?: number;
                /** @description Comma-separated aggregate types. Default: all. */
                aggregateType?: string[] | null;
                /** @description Comma-separated event types. Default: all. */
                eventType?: string[] | null;
                /** @description Maximum number of appends to scan, whether their events match or not. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedPageBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "feed-activity": {
        parameters: {
            query?: {
                /** @description 24 hours in steps of an hour, or 7 days in steps of 6 hours. */
                range?: "24h" | "7d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActivityAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "feed-head": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedHeadAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "events-of-type": {
        parameters: {
            query?: {
                /** @description From the previous page. */
                cursor?: string;
                /** @description Maximum number of results. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description Type of the events. */
                eventType: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventsOfTypePageBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    projections: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectionsAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "parked-aggregates": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the projection. */
                projection: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkedAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "rebuild-projection": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the projection. */
                projection: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Accepted */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "retry-parked": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the projection. */
                projection: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkedAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "query-events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["QueryRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueryAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Request Entity Too Large */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "owner-of-value": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EventStoreScopedValue"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OwnerAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "event-subject": {
        parameters: {
            query?: {
                /** @description From the previous page. */
                cursor?: string;
                /** @description Maximum number of results. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description ID of the person, as in events. Percent-encoded if it contains characters with a meaning in paths. */
                subject: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreSubjectBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "erase-subject": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description ID of the person, as in events. Percent-encoded if it contains characters with a meaning in paths. */
                subject: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreErasureReceipt"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Not Found */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Conflict */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Gateway Timeout */
            504: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    subscriptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionsAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "create-subscription": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CreateSubscriptionRequestBody"];
            };
        };
        responses: {
            /** @description Created */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventStoreSubscriptionBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "delete-subscription": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "acknowledge-events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcknowledgeRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettledAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Some tokens were refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["EventStoreRefusedProblem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "discard-parked-events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ParkedRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DiscardedAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "extend-deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExtendRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExtendedAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Some tokens were refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["EventStoreRefusedProblem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "parked-events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ParkedEventsAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "receive-events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReceiveRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReceiveAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "reject-events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RejectRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SettledAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Some tokens were refused. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["EventStoreRefusedProblem"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "reset-subscription": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResetRequestBody"];
            };
        };
        responses: {
            /** @description No Content */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "retry-parked-events": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ParkedRequestBody"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RetriedAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "stream-deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of the subscription. */
                subscription: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["EventStorePullOptions"];
            };
        };
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": ({
                        data: components["schemas"]["EventStoreHeartbeat"];
                        /**
                         * @description The event name.
                         * @constant
                         */
                        event: "beat";
                        /** @description The event ID. */
                        id?: number;
                        /** @description The retry time in milliseconds. */
                        retry?: number;
                    } | {
                        data: components["schemas"]["EventStoreDelivery"];
                        /**
                         * @description The event name.
                         * @constant
                         */
                        event: "event";
                        /** @description The event ID. */
                        id?: number;
                        /** @description The retry time in milliseconds. */
                        retry?: number;
                    })[];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "tail-feed": {
        parameters: {
            query?: {
                /** @description The position up to which everything was read, if there is no Last-Event-ID; 0 for everything. Default: only new events. */
                after?: number;
                /** @description Comma-separated aggregate types. Default: all. */
                aggregateType?: string[] | null;
                /** @description Comma-separated event types. Default: all. */
                eventType?: string[] | null;
            };
            header?: {
                /** @description The position up to which everything was read. Browsers send it when they reconnect. */
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": ({
                        data: components["schemas"]["EventStoreHeartbeat"];
                        /**
                         * @description The event name.
                         * @constant
                         */
                        event: "beat";
                        /** @description The event ID. */
                        id?: number;
                        /** @description The retry time in milliseconds. */
                        retry?: number;
                    } | {
                        data: components["schemas"]["EventStoreFeedEvent"];
                        /**
                         * @description The event name.
                         * @constant
                         */
                        event: "event";
                        /** @description The event ID. */
                        id?: number;
                        /** @description The retry time in milliseconds. */
                        retry?: number;
                    })[];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Unprocessable Entity */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
    "aggregate-types": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description OK */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TypesAnswerBody"];
                };
            };
            /** @description Unauthorized */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Forbidden */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
            /** @description Internal Server Error */
            500: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["ErrorModel"];
                };
            };
        };
    };
}
