import type { Migration } from '../migrate.ts'
import { baselineMigration } from './20261128101500-baseline.ts'
import { blackboardBytesMigration } from './20261128102000-blackboard-bytes.ts'
import { cacheUseMigration } from './20261128170500-cache-use.ts'
import { generatedCredentialsMigration } from './20261128134500-generated-credentials.ts'
import { keptBodiesMigration } from './20261129010500-kept-bodies.ts'
import { ownNamesMigration } from './20261130064000-own-names.ts'
import { outsideReadsMigration } from './20261130155900-outside-reads.ts'
import { packageRequestsMigration } from './20261129130500-package-requests.ts'
import { policyUseMigration } from './20261129011700-policy-use.ts'
import { taskListsMigration } from './20261128172300-task-lists.ts'
import { returnedSteersMigration } from './20261128174400-returned-steers.ts'
import { unconfirmedUsageMigration } from './20261128214500-unconfirmed-usage.ts'
import { hourlySpendMigration } from './20261129020000-hourly-spend.ts'
import { heartbeatFactsMigration } from './20261129062500-heartbeat-facts.ts'
import { reportedTokensMigration } from './20261130200000-reported-tokens.ts'
import { walletChargesMigration } from './20261128133500-wallet-charges.ts'

/**
 * Every step of the schema. A new step is a file in this folder, `YYYYMMDDHHMMSS-name.ts` with the current time
 * (UTC) as its version, and a line here, so that two branches never use the same version. The files in `../schema`
 * are the text of the baseline: they do not change once a release used them.
 */
export const allMigrations: readonly Migration[] = [
  baselineMigration,
  blackboardBytesMigration,
  walletChargesMigration,
  generatedCredentialsMigration,
  cacheUseMigration,
  taskListsMigration,
  returnedSteersMigration,
  unconfirmedUsageMigration,
  keptBodiesMigration,
  policyUseMigration,
  hourlySpendMigration,
  heartbeatFactsMigration,
  packageRequestsMigration,
  ownNamesMigration,
  outsideReadsMigration,
  reportedTokensMigration,
]
