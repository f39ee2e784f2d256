import { sessionNameMaxChars, terminalSession } from '@flotilla/protocol/chat-history'
import type { Origin } from '@flotilla/protocol/origin'

/**
 * The conversation of whoever names none: the terminal has its own, everybody else one for each channel and person, so
 * that two people on one channel never read each other's words. Pure.
 */
export function defaultSession({ channel, user }: Origin): string {
  if (channel === 'cli') return terminalSession
  return (user === undefined ? channel : `${channel}:${user}`).slice(0, sessionNameMaxChars)
}
