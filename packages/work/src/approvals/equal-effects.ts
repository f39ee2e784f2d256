import { createHash } from 'node:crypto'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { harnessApprovalKind } from '@flotilla/protocol/harness-api'
import { packagesApprovalKind, sizeApprovalKind } from '@flotilla/protocol/resource-requests-api'
import { paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import { canonicalJson } from '@flotilla/foundation/journal'

/**
 * For each kind of approval, the arguments that determine its effect. Two requests of one requester with equal values
 * in these arguments share one approval; the other arguments are texts, or figures that change by the minute. A kind
 * that is not listed, or a request without one of these arguments, is compared by all of its arguments.
 */
const effectArguments: Readonly<Record<string, readonly string[]>> = {
  // The reason of a deletion is left out, because it does not change the effect.
  'delete-agent': ['agent_id', 'created_at'],
  // The time limit, the rule and the requesting run change nothing of what is sent.
  'http-request': ['agent_id', 'method', 'url', 'headers', 'body'],
  'program-request': ['agent_id', 'host', 'port', 'method', 'path', 'headers', 'body_sha256'],
  'mcp-call': ['agent_id', 'server', 'server_sha256', 'call'],
  // The digest is that of all that the harness states: what a person sees of it is cut. The rule and the requesting
  // run are left out.
  [harnessApprovalKind]: ['agent_id', 'tool', 'subject', 'input', 'sha256'],
  // Two requests with one lock differ in their ids and reasons alone.
  [packagesApprovalKind]: ['agent_id', 'packages', 'list_key', 'lock_sha256'],
  [sizeApprovalKind]: ['agent_id', 'from', 'to'],
  // `does` names chain, destination, token and amount; fee, prices and the requesting run are left out.
  [paymentApprovalKind]: ['agent_id', 'from', 'does'],
}

/** Returns the SHA-256 of a kind and of the arguments that determine its effect. Pure. */
export function effectDigest(kind: string, args: JsonObject): string {
  const names = Object.hasOwn(effectArguments, kind) ? effectArguments[kind] : undefined
  const entries = names?.map((name) => [name, args[name] ?? null] as const)
  const isWhole = entries !== undefined && entries.every(([, value]) => value !== null)
  const effect = isWhole ? Object.fromEntries(entries) : args
  return createHash('sha256').update(canonicalJson({ kind, effect })).digest('hex')
}
