import type { Migration } from './migrate.ts'
import { ledgerMigration } from './migrations/001-ledger.ts'
import { steersMigration } from './migrations/002-steers.ts'
import { proactiveRunsMigration } from './migrations/003-proactive-runs.ts'
import { pausesMigration } from './migrations/088-pauses.ts'
import { runTokensMigration } from './migrations/004-run-tokens.ts'
import { agentArchiveMigration } from './migrations/024-agent-archive.ts'
import { agentsMigration } from './migrations/010-agents.ts'
import { spendMigration } from './migrations/020-spend.ts'
import { budgetsMigration } from './migrations/021-budgets.ts'
import { agentProjectsMigration } from './migrations/022-agent-projects.ts'
import { journalCheckpointsMigration } from './migrations/023-journal-checkpoints.ts'
import { blackboardMigration } from './migrations/030-blackboard.ts'
import { artifactsMigration } from './migrations/040-artifacts.ts'
import { effectsMigration } from './migrations/050-effects.ts'
import { credentialRequestsMigration } from './migrations/055-credential-requests.ts'
import { egressMigration } from './migrations/060-egress.ts'
import { controlMigration } from './migrations/070-control.ts'
import { changeDigestsMigration } from './migrations/071-change-digests.ts'
import { heartbeatsMigration } from './migrations/082-heartbeats.ts'
import { webhookBodiesMigration } from './migrations/108-webhook-bodies.ts'
import { webhooksMigration } from './migrations/083-webhooks.ts'
import { webhookIdsMigration } from './migrations/084-webhook-ids.ts'
import { mcpServersMigration } from './migrations/090-mcp-servers.ts'
import { watchersMigration } from './migrations/085-watchers.ts'
import { topicsMigration } from './migrations/087-topics.ts'
import { spendLivesMigration } from './migrations/105-spend-lives.ts'
import { unconfirmedSpendMigration } from './migrations/106-unconfirmed-spend.ts'
import { cronMigration } from './migrations/080-cron.ts'
import { effectMarksMigration } from './migrations/111-effect-marks.ts'
import { cutOffChangesMigration } from './migrations/112-cut-off-changes.ts'
import { statedWindowsMigration } from './migrations/125-stated-windows.ts'
import { heartbeatRulesMigration } from './migrations/135-heartbeat-rules.ts'
import { permissionDefaultsMigration } from './migrations/136-permission-defaults.ts'

/**
 * Every step of the schema. Numbers are kept by room: 1 to 9 ledger, 10 agents, 20 to 29 spend, budgets and journal,
 * 30 blackboard, 40 artifacts and notes, 50 effects, 55 credential requests, 60 egress, 70 and 71 approvals and changes,
 * 80 to 89 triggers, topics and pauses, 90 MCP servers.
 * 105 to 107 spend, 108 bodies of webhooks, 111 and 112 what was cut off, 125 windows of models, 136 defaults of permissions.
 */
export const allMigrations: readonly Migration[] = [
  ledgerMigration,
  steersMigration,
  proactiveRunsMigration,
  runTokensMigration,
  agentsMigration,
  spendMigration,
  budgetsMigration,
  agentProjectsMigration,
  journalCheckpointsMigration,
  agentArchiveMigration,
  blackboardMigration,
  artifactsMigration,
  effectsMigration,
  credentialRequestsMigration,
  egressMigration,
  controlMigration,
  changeDigestsMigration,
  heartbeatsMigration,
  webhooksMigration,
  webhookIdsMigration,
  pausesMigration,
  mcpServersMigration,
  watchersMigration,
  topicsMigration,
  cronMigration,
  webhookBodiesMigration,
  spendLivesMigration,
  unconfirmedSpendMigration,
  effectMarksMigration,
  cutOffChangesMigration,
  statedWindowsMigration,
  heartbeatRulesMigration,
  permissionDefaultsMigration,
]
