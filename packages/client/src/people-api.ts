import { chatSessionApi, chatSessionEndpoints } from '@flotilla/protocol/chat-session-api'
import { controlApi, controlEndpoints } from '@flotilla/protocol/control-api'
import { heartbeatApi, heartbeatEndpoints } from '@flotilla/protocol/heartbeat-api'
import { cronHumanApi, cronHumanEndpoints } from '@flotilla/protocol/cron-api'
import { journalApi, journalEndpoints } from '@flotilla/protocol/journal-api'
import { mcpHumanApi, mcpHumanEndpoints } from '@flotilla/protocol/mcp-api'
import { meshHumanApi, meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { moneyApi, moneyEndpoints } from '@flotilla/protocol/money-api'
import { pauseApi, pauseEndpoints } from '@flotilla/protocol/pause-api'
import { topicHumanApi, topicHumanEndpoints } from '@flotilla/protocol/topics-api'
import { vaultHumanApi, vaultHumanEndpoints } from '@flotilla/protocol/vault-api'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import { watchApi, watchEndpoints } from '@flotilla/protocol/watch-api'

/** Every endpoint of the people's door, and their schemas under the same names. */
export const peopleEndpoints = {
  ...meshHumanEndpoints,
  ...moneyEndpoints,
  ...journalEndpoints,
  ...controlEndpoints,
  ...pauseEndpoints,
  ...vaultHumanEndpoints,
  ...webhookEndpoints,
  ...mcpHumanEndpoints,
  ...heartbeatEndpoints,
  ...watchEndpoints,
  ...topicHumanEndpoints,
  ...chatSessionEndpoints,
  ...cronHumanEndpoints,
} as const
export const peopleApi = {
  ...meshHumanApi,
  ...moneyApi,
  ...journalApi,
  ...controlApi,
  ...pauseApi,
  ...vaultHumanApi,
  ...webhookApi,
  ...mcpHumanApi,
  ...heartbeatApi,
  ...watchApi,
  ...topicHumanApi,
  ...chatSessionApi,
  ...cronHumanApi,
} as const

export type PeopleEndpointName = keyof typeof peopleEndpoints
