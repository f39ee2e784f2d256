import type { Migration } from '../migrate.ts'
import { agentsSchema } from '../schema/agents-schema.ts'
import { approvalsSchema } from '../schema/approvals-schema.ts'
import { auditLogSchema } from '../schema/audit-log-schema.ts'
import { browserSchema } from '../schema/browser-schema.ts'
import { channelsSchema } from '../schema/channels-schema.ts'
import { collaborationSchema } from '../schema/collaboration-schema.ts'
import { egressSchema } from '../schema/egress-schema.ts'
import { recordsSchema } from '../schema/records-schema.ts'
import { runsSchema } from '../schema/runs-schema.ts'
import { spendingSchema } from '../schema/spending-schema.ts'
import { tasksSchema } from '../schema/tasks-schema.ts'
import { triggersSchema } from '../schema/triggers-schema.ts'
import { walletSchema } from '../schema/wallet-schema.ts'

/** The whole schema of the first release, in an order in which each table exists before another one refers to it. */
export const baselineMigration: Migration = {
  version: 20261128101500,
  name: 'baseline',
  sql: [
    agentsSchema,
    runsSchema,
    tasksSchema,
    auditLogSchema,
    spendingSchema,
    collaborationSchema,
    approvalsSchema,
    egressSchema,
    triggersSchema,
    recordsSchema,
    channelsSchema,
    browserSchema,
    walletSchema,
  ].join(''),
}
