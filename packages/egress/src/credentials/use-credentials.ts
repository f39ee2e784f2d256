import { Problem } from '@flotilla/protocol/problem'
import type { Journal } from '@flotilla/foundation/journal'
import type { Action, Caller, CallRate, Decision, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import { plainHost } from '@flotilla/identity/policy'
import type { CheckEffect } from '@flotilla/identity/policy'
import type { BindingStore } from './binding-file.ts'
import { valueFault } from './credential-value.ts'
import { destinationOf, fillRequest, namesInRequest } from './fill-handles.ts'
import { findHeaders, writeHeaders } from './credential-headers.ts'
import { handleFor, handleNames } from './handles.ts'
import type { HandledRequest } from './fill-handles.ts'
import { coverageOf, hostMatches, originOf, parseHostPattern, patternFor } from './host-pattern.ts'
import { createByteScrub } from './scrub-bytes.ts'
import type { ByteScrub } from './scrub-bytes.ts'
import { createScrubs } from './scrub.ts'
import type { Scrub } from './scrub.ts'
import type { Secret } from './secret.ts'
import type { Vault } from './vault.ts'

/** The parts of a request that came from handles, which are dropped when a redirect leaves the origin. */
export interface Carried {
  readonly headers: readonly string[]
  readonly body: boolean
  /** True if a text contains one of the values in any spelling. */
  isIn(text: string): boolean
}

/** Removes values from an answer that streams: from text, and from other bodies. */
export interface AnswerScrub {
  readonly text: Scrub
  readonly bytes: ByteScrub
}

export interface FilledRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** The parts that came from handles; null if no handle was filled in. */
  readonly carried: Carried | null
}

/** The credentials of one agent for one request that leaves the mesh; nothing is kept after the request. */
export interface CredentialCall {
  /**
   * Replaces the handles of a request whose destination is known. Problems: `credential-unknown` for a credential
   * that does not exist or that this agent may not use; `credential-refused` if the credential is not bound to the
   * host, scheme or port; `bad-request`, `rate-limited`.
   */
  fillIn(request: HandledRequest): FilledRequest
  /**
   * Returns the value for a text that is exactly one handle, with the origins at which the value may be typed, also
   * that of `page`; null without handles. Problems of `fillIn`; `bad-request` for a handle with other text.
   */
  fillField(
    text: string,
    page: string,
  ): { readonly value: string; readonly origins: readonly string[] } | null
  /**
   * Replaces placeholders and handles in the headers of a program's request, names and values in turn, for a
   * destination that is inspected. `mayFill` gets the names of the credentials, none included, before a value is
   * read. It throws to refuse the request, and returns false to leave the headers as they are. Problems of `fillIn`.
   */
  fillHeaders(
    url: URL,
    raw: readonly string[],
    mayFill?: (names: readonly string[]) => boolean,
  ): readonly string[]
  /** Removes values from answers of this destination; null if no credential of the agent may be sent there. */
  scrubOf(url: URL): AnswerScrub | null
  /** Removes from answers every value that this agent could have sent, in this call or an earlier one. */
  readonly scrub: Scrub
}

export type OpenCredentials = (caller: Caller) => CredentialCall

export interface UseCredentialsDeps {
  readonly vault: Vault
  readonly bindings: Pick<BindingStore, 'bindingOf' | 'broken'>
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  /** The owner's policy about a key that is typed into a page; requests with keys are decided where they leave. */
  readonly checkEffect: Pick<CheckEffect, 'requireAllowed'>
  /** Returns the placeholder of a credential in the container of an agent. */
  readonly placeholderOf: (agentId: string, secret: Secret) => string
  /** Limits how many requests with handles an agent may send. */
  readonly rate: Pick<CallRate, 'take'>
  readonly journal: Journal
}

/** Origins of a field in a frame whose origin differs from its page; the page's origin is the first. */
const originsMax = 50
/** A partial response could split a value into pieces that redaction does not recognize. */
const cuttingHeaders: readonly string[] = ['range', 'if-range']

export function createUseCredentials(deps: UseCredentialsDeps): OpenCredentials {
  const { vault, bindings, journal } = deps
  const scrubFor = createScrubs()

  function usable(caller: Caller): readonly Secret[] {
    return vault
      .names()
      .agent.filter((name) => deps.decide(caller, { do: 'use-credential', name }).allowed)
      .flatMap((name) => vault.agentTier(name) ?? [])
  }

  function secretFor(caller: Caller, name: string): Secret {
    try {
      deps.guard(caller, { do: 'use-credential', name })
    } catch (error) {
      if (error instanceof Problem && error.code === 'denied') throw unknown(name)
      throw error
    }
    const secret = vault.agentTier(name)
    if (!secret) throw unknown(name)
    return secret
  }

  /** Returns the reason why this credential may not be sent to this address, as text; null if it may. */
  function refusal(secret: Secret, url: URL): string | null {
    const broken = bindings.broken()
    if (broken !== null) return `the mesh inserts no credential at present: ${broken}`
    const fault = valueFault(secret.reveal())
    if (fault !== null) return `the credential ${secret.name} cannot be used: ${fault}`
    const hosts = bindings.bindingOf(secret.name)?.hosts ?? []
    if (hosts.length === 0)
      return `the credential ${secret.name} is bound to no host; the owner binds it with: flotilla credentials bind ${secret.name} ${patternFor(url)}`
    if (hosts.some((host) => matches(host, url))) return null
    const covered = hosts.map((host) => {
      const pattern = parseHostPattern(host)
      return pattern === null ? host : coverageOf(pattern)
    })
    return `the credential ${secret.name} is bound to ${covered.join(', ')} and not to ${url.origin}; the owner adds this host with: flotilla credentials bind ${secret.name} ${[...hosts, patternFor(url)].join(' ')}`
  }

  /** Checks each name, and records refusals. */
  function requireFor(caller: Caller, names: readonly string[], url: URL): ReadonlyMap<string, Secret> {
    if (caller.kind === 'agent') deps.rate.take(caller.agentId)
    const secrets = new Map(names.map((name) => [name, secretFor(caller, name)]))
    for (const [name, secret] of secrets) {
      const reason = refusal(secret, url)
      if (reason === null) continue
      record(caller, { action: 'credential.refused', name, url }, { reason: reason.slice(0, 500) })
      throw new Problem('credential-refused', { detail: reason })
    }
    return secrets
  }

  function record(
    caller: Caller,
    { action, name, url }: { readonly action: string; readonly name: string; readonly url: URL },
    detail: Record<string, string>,
  ): void {
    journal.append({
      actor: actorOf(caller),
      action,
      subject: name,
      detail: { host: url.host, run: (caller.kind === 'agent' && caller.run?.runId) || '', ...detail },
    })
  }

  function fillField(caller: Caller, text: string, page: string) {
    const [name, more] = handleNames(text)
    if (name === undefined) return null
    if (more !== undefined || text.trim().toLowerCase() !== handleFor(name).toLowerCase()) {
      throw new Problem('bad-request', {
        detail:
          'a field accepts exactly one credential and no other text: type the other text with separate calls',
      })
    }
    const url = URL.canParse(page) ? new URL(page) : new URL('about:blank')
    // What the page does with the key is hidden.
    deps.checkEffect.requireAllowed(
      caller,
      { tool: 'browser', host: plainHost(url.hostname), method: null, path: null, credentials: [name] },
      'no person can be asked about a key in a page; ask the owner with notify_user',
    )
    const secret = requireFor(caller, [name], url).get(name)
    if (!secret) throw unknown(name)
    record(caller, { action: 'credential.used', name, url }, { by: 'browser' })
    const named = (bindings.bindingOf(name)?.hosts ?? []).flatMap((host) => {
      const pattern = parseHostPattern(host)
      return (pattern && originOf(pattern)) ?? []
    })
    return { value: secret.reveal(), origins: [...new Set([url.origin, ...named])].slice(0, originsMax) }
  }

  function filled(caller: Caller, request: HandledRequest, names: readonly string[]): FilledRequest {
    const url = destinationOf(request.url)
    const secrets = requireFor(caller, names, url)
    const cutting = cuttingHeaders.find((header) => request.headers[header] !== undefined)
    if (cutting !== undefined)
      throw new Problem('bad-request', {
        detail: `the header ${cutting} cannot be sent together with a credential`,
      })
    const parts = fillRequest(request, (name) => secrets.get(name)?.reveal() ?? '')
    for (const name of names) record(caller, { action: 'credential.used', name, url }, {})
    const { isIn } = scrubFor([...secrets.values()])
    return {
      url: parts.url,
      headers: parts.headers,
      body: parts.body,
      carried: { headers: parts.filledHeaders, body: parts.filledBody, isIn },
    }
  }

  function fillHeaders(
    caller: Caller,
    {
      url,
      raw,
      mayFill,
    }: { url: URL; raw: readonly string[]; mayFill: (names: readonly string[]) => boolean },
  ): readonly string[] {
    const { agentId } = caller.kind === 'agent' ? caller : { agentId: '' }
    const held = usable(caller).map((secret) => ({
      secret,
      placeholder: deps.placeholderOf(agentId, secret),
    }))
    const found = findHeaders(raw, held)
    if (found.length === 0) {
      mayFill([])
      return raw
    }
    const headers: Record<string, string> = Object.fromEntries(found.map(({ name, text }) => [name, text]))
    for (let at = 0; at < raw.length; at += 2) {
      const name = raw[at]?.toLowerCase() ?? ''
      if (cuttingHeaders.includes(name)) headers[name] = raw[at + 1] ?? ''
    }
    const request = { url: url.origin, headers, body: '' }
    const names = namesInRequest(request)
    if (!mayFill(names)) return raw
    return writeHeaders(raw, found, filled(caller, request, names).headers)
  }

  return (caller) => ({
    get scrub() {
      return scrubFor(usable(caller))
    },
    fillHeaders: (url, raw, mayFill = () => true) => fillHeaders(caller, { url, raw, mayFill }),
    scrubOf: (url) => {
      const secrets = usable(caller).filter((secret) => refusal(secret, url) === null)
      return secrets.length === 0 ? null : { text: scrubFor(secrets), bytes: createByteScrub(secrets) }
    },
    fillField: (text, page) => fillField(caller, text, page),
    fillIn(request) {
      const names = namesInRequest(request)
      if (names.length > 0) return filled(caller, request, names)
      return { url: destinationOf(request.url), headers: request.headers, body: request.body, carried: null }
    },
  })
}

function matches(host: string, url: URL): boolean {
  const pattern = parseHostPattern(host)
  return pattern !== null && hostMatches(pattern, url)
}

function unknown(name: string): Problem {
  return new Problem('credential-unknown', {
    detail: `no credential ${name} exists that you may use; vault_list shows the credentials that you may use`,
  })
}
