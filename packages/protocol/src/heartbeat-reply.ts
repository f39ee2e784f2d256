/** What an agent answers to a heartbeat that found nothing to report. */
export const heartbeatOkToken = 'HEARTBEAT_OK'

/** The conversation in which an agent's heartbeats run. */
export const heartbeatSession = 'heartbeat'

/** The default heartbeat interval of an agent; an operator always has heartbeats. */
export const defaultHeartbeatSchedule = 'every 15m'

/** Marks that models put around a word. */
const ornaments = /[\s*_`"'.!]+/g

/** Whether the reply is the token alone: a reply with any other text reports something. Pure. */
export function isQuietReply(text: string): boolean {
  return text.replaceAll(ornaments, '') === heartbeatOkToken.replaceAll(ornaments, '')
}
