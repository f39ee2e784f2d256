import process from 'node:process'
import { signSession } from '../../packages/mesh/src/http/gates/session-cookie.ts'

/** What the access token file of the machine below says. */
export const hostedToken = 'a-hosted-machine-s-access-token'

/** Views of the file system of one's own need root; the container lane has it wherever an engine was set up. */
export const canBeHosted = process.getuid?.() === 0

/** Starts a program with a view of the file system in which this machine is a hosted one; it ends with the process. */
export const onHostedMachine = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  `mount -t tmpfs none /opt && mkdir /opt/flotilla && printf %s ${hostedToken} > /opt/flotilla/.access_token && exec "$0" "$@"`,
] as const

/** The value of `ol_session` for so many seconds, signed with the right token or another. */
export function sessionOf(token = hostedToken, seconds = 600): string {
  return signSession(token, { nowMs: Date.now(), seconds })
}
