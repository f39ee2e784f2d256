import type { Migration } from '../migrate.ts'
import { ledgerMigration } from './001-ledger.ts'
import { steersMigration } from './002-steers.ts'
import { proactiveRunsMigration } from './003-proactive-runs.ts'
import { pausesMigration } from './088-pauses.ts'
import { runTokensMigration } from './004-run-tokens.ts'
import { agentArchiveMigration } from './024-agent-archive.ts'
import { agentsMigration } from './010-agents.ts'
import { spendMigration } from './020-spend.ts'
import { budgetsMigration } from './021-budgets.ts'
import { agentProjectsMigration } from './022-agent-projects.ts'
import { journalCheckpointsMigration } from './023-journal-checkpoints.ts'
import { blackboardMigration } from './030-blackboard.ts'
import { artifactsMigration } from './040-artifacts.ts'
import { effectsMigration } from './050-effects.ts'
import { credentialRequestsMigration } from './055-credential-requests.ts'
import { egressMigration } from './060-egress.ts'
import { controlMigration } from './070-control.ts'
import { changeDigestsMigration } from './071-change-digests.ts'
import { heartbeatsMigration } from './082-heartbeats.ts'
import { webhookBodiesMigration } from './108-webhook-bodies.ts'
import { webhooksMigration } from './083-webhooks.ts'
import { webhookIdsMigration } from './084-webhook-ids.ts'
import { mcpServersMigration } from './090-mcp-servers.ts'
import { watchersMigration } from './085-watchers.ts'
import { topicsMigration } from './087-topics.ts'
import { spendLivesMigration } from './105-spend-lives.ts'
import { unconfirmedSpendMigration } from './106-unconfirmed-spend.ts'
import { cronMigration } from './080-cron.ts'
import { effectMarksMigration } from './111-effect-marks.ts'
import { cutOffChangesMigration } from './112-cut-off-changes.ts'
import { statedWindowsMigration } from './125-stated-windows.ts'
import { heartbeatRulesMigration } from './135-heartbeat-rules.ts'
import { permissionDefaultsMigration } from './136-permission-defaults.ts'
import { messagesMigration } from './20261123011900-messages.ts'
import { teamTasksMigration } from './20261123012000-team-tasks.ts'
import { agentLifecycleMigration } from './20261123012200-agent-lifecycle.ts'
import { projectsMigration } from './20261123014000-projects.ts'
import { spawnedAgentsMigration } from './20261123014500-spawned-agents.ts'
import { blackboardWatchesMigration } from './20261123020000-blackboard-watches.ts'
import { blackboardTellsMigration } from './20261123032500-blackboard-tells.ts'
import { heartbeatFleetMigration } from './20261123021000-heartbeat-fleet.ts'
import { channelsMigration } from './20261123090000-channels.ts'
import { channelLetterPeopleMigration } from './20261123125000-channel-letter-people.ts'
import { channelMarksMigration } from './20261123093000-channel-marks.ts'
import { channelFilesMigration } from './20261123130000-channel-files.ts'
import { captchaSolverMigration } from './20261123231000-captcha-solver.ts'
import { walletReplacementsMigration } from './20261124003500-wallet-replacements.ts'
import { walletPaymentsMigration } from './20261123223000-wallet-payments.ts'
import { walletMigration } from './20261123174000-wallet.ts'
import { browserHandOversMigration } from './20261123180000-browser-hand-overs.ts'
import { heardExchangesMigration } from './20261123175000-heard-exchanges.ts'
import { channelTalkSendersMigration } from './20261123094500-channel-talk-senders.ts'
import { blackboardVersionsMigration } from './20261123050000-blackboard-versions.ts'
import { taskChainsMigration } from './20261123032600-task-chains.ts'
import { permissionRowsMigration } from './20261123045500-permission-rows.ts'
import { spansMigration } from './20261123013500-spans.ts'
import { templatesMigration } from './20261123012500-templates.ts'
import { runRecordsMigration } from './20261123012600-run-records.ts'
import { channelMovesMigration } from './20261128071500-channel-moves.ts'
import { blackboardWritersMigration } from './20261128073000-blackboard-writers.ts'
import { equalApprovalsMigration } from './20261128075500-equal-approvals.ts'

/**
 * Every step of the schema. A new one is a file in this folder, `YYYYMMDDHHMMSS-name.ts` with the current time (UTC) as
 * its version, and a line here, so that two branches never use the same version. The first steps have small numbers and
 * keep them.
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
  messagesMigration,
  teamTasksMigration,
  agentLifecycleMigration,
  projectsMigration,
  spawnedAgentsMigration,
  blackboardWatchesMigration,
  heartbeatFleetMigration,
  spansMigration,
  templatesMigration,
  runRecordsMigration,
  blackboardTellsMigration,
  taskChainsMigration,
  permissionRowsMigration,
  blackboardVersionsMigration,
  channelsMigration,
  channelMarksMigration,
  channelTalkSendersMigration,
  channelLetterPeopleMigration,
  channelFilesMigration,
  walletMigration,
  heardExchangesMigration,
  browserHandOversMigration,
  walletPaymentsMigration,
  captchaSolverMigration,
  walletReplacementsMigration,
  channelMovesMigration,
  blackboardWritersMigration,
  equalApprovalsMigration,
]
