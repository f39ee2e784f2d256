/** What an agent answers to a heartbeat that found nothing to report. */
export const heartbeatOkToken = 'HEARTBEAT_OK'

/** The conversation of an agent with its own heartbeats. */
export const heartbeatSession = 'heartbeat'

/** The default heartbeat interval of an agent; an operator always has heartbeats. */
export const defaultHeartbeatSchedule = 'every 15m'

/** Marks that models put around a word. */
const ornaments = /[\s*_`"'.!]+/g

/** Pure. The token alone: a reply that says anything beside it has something to say. */
export function isQuietReply(text: string): boolean {
  return text.replaceAll(ornaments, '') === heartbeatOkToken.replaceAll(ornaments, '')
}
