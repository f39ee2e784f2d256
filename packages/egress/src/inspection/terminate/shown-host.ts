import { textOf } from '../../egress/index.ts'
import type { Destination } from '../../egress/index.ts'

/** The value of the Host header: without the port of HTTPS. Pure. */
export function shownHost(destination: Destination): string {
  return destination.port === 443 ? textOf(destination).replace(/:443$/, '') : textOf(destination)
}
