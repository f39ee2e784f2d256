import { backupApi, backupEndpoints } from '@flotilla/protocol/backup-api'
import { blackboardHumanApi, blackboardHumanEndpoints } from '@flotilla/protocol/blackboard-api'
import { browserHumanApi } from '@flotilla/protocol/browser-api'
import { browserHumanEndpoints } from '@flotilla/protocol/browser-endpoints'
import { channelEndpoints, channelsApi } from '@flotilla/protocol/channels-api'
import { chatSessionApi, chatSessionEndpoints } from '@flotilla/protocol/chat-session-api'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { dashboardApi, dashboardEndpoints } from '@flotilla/protocol/dashboard-api'
import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { cronHumanApi, cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { journalApi, journalEndpoints } from '@flotilla/protocol/journal-api'
import { keptApi, keptEndpoints } from '@flotilla/protocol/kept-api'
import { mcpHumanApi, mcpHumanEndpoints } from '@flotilla/protocol/mcp-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { messageHumanApi } from '@flotilla/protocol/message-api'
import { messageHumanEndpoints } from '@flotilla/protocol/message-endpoints'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import { peopleAdminApi, peopleAdminEndpoints } from '@flotilla/protocol/people-api'
import { pauseApi, pauseEndpoints } from '@flotilla/protocol/pause-api'
import { traceApi, traceEndpoints } from '@flotilla/protocol/trace-api'
import { replayApi, replayEndpoints } from '@flotilla/protocol/replay-api'
import { templateEndpoints, templatesApi } from '@flotilla/protocol/templates-api'
import { policyApi, policyEndpoints } from '@flotilla/protocol/policy-api'
import { projectHumanApi, projectHumanEndpoints } from '@flotilla/protocol/project-api'
import { setupApi, setupEndpoints } from '@flotilla/protocol/setup-api'
import { taskHumanApi, taskHumanEndpoints } from '@flotilla/protocol/task-api'
import { topicHumanApi, topicHumanEndpoints } from '@flotilla/protocol/topics-api'
import { inspectionHumanApi, inspectionHumanEndpoints } from '@flotilla/protocol/inspection-api'
import { agentHarnessApi, agentHarnessEndpoints } from '@flotilla/protocol/agent-harness'
import { agentImageApi, agentImageEndpoints } from '@flotilla/protocol/agent-image'
import { agentSizeApi, agentSizeEndpoints } from '@flotilla/protocol/agent-size'
import { packagesHumanApi, packagesHumanEndpoints } from '@flotilla/protocol/packages-api'
import { vaultHumanApi, vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { walletApi, walletEndpoints } from '@flotilla/protocol/wallet-api'
import { walletPaymentApi, walletPaymentEndpoints } from '@flotilla/protocol/wallet-payments-api'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { watchApi, watchEndpoints } from '@flotilla/protocol/watch-api'

/** Every endpoint of the people's API, and their schemas under the same names. */
export const peopleEndpoints = {
  ...meshHumanEndpoints,
  ...moneyEndpoints,
  ...journalEndpoints,
  ...backupEndpoints,
  ...browserHumanEndpoints,
  ...traceEndpoints,
  ...controlEndpoints,
  ...pauseEndpoints,
  ...vaultHumanEndpoints,
  ...policyEndpoints,
  ...inspectionHumanEndpoints,
  ...packagesHumanEndpoints,
  ...agentHarnessEndpoints,
  ...agentSizeEndpoints,
  ...agentImageEndpoints,
  ...walletEndpoints,
  ...walletPaymentEndpoints,
  ...webhookEndpoints,
  ...mcpHumanEndpoints,
  ...heartbeatEndpoints,
  ...watchEndpoints,
  ...topicHumanEndpoints,
  ...messageHumanEndpoints,
  ...peopleAdminEndpoints,
  ...channelEndpoints,
  ...taskHumanEndpoints,
  ...projectHumanEndpoints,
  ...blackboardHumanEndpoints,
  ...chatSessionEndpoints,
  ...cronHumanEndpoints,
  ...templateEndpoints,
  ...replayEndpoints,
  ...keptEndpoints,
  ...setupEndpoints,
  ...dashboardEndpoints,
} as const
export const peopleApi = {
  ...meshHumanApi,
  ...moneyApi,
  ...journalApi,
  ...backupApi,
  ...browserHumanApi,
  ...traceApi,
  ...controlApi,
  ...pauseApi,
  ...vaultHumanApi,
  ...policyApi,
  ...inspectionHumanApi,
  ...packagesHumanApi,
  ...agentHarnessApi,
  ...agentSizeApi,
  ...agentImageApi,
  ...walletApi,
  ...walletPaymentApi,
  ...webhookApi,
  ...mcpHumanApi,
  ...heartbeatApi,
  ...watchApi,
  ...topicHumanApi,
  ...messageHumanApi,
  ...peopleAdminApi,
  ...channelsApi,
  ...taskHumanApi,
  ...projectHumanApi,
  ...blackboardHumanApi,
  ...chatSessionApi,
  ...cronHumanApi,
  ...templatesApi,
  ...replayApi,
  ...keptApi,
  ...setupApi,
  ...dashboardApi,
} as const

export type PeopleEndpointName = keyof typeof peopleEndpoints
