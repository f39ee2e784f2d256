import { isIP } from 'node:net'
import { nearestName } from '@flotilla/protocol/nearest-name'
import type { ChannelName } from '@flotilla/protocol/people'
import { modelEntries } from '@flotilla/foundation/config'
import type { Settings } from '@flotilla/foundation/config'

/** The facts with which settings are compared. */
export interface KnownThings {
  readonly agents: readonly string[]
  /** Names of the mesh's own credentials, in lower case. */
  readonly systemNames: readonly string[]
  /** Why the outbound filter would refuse this address to the mesh, and which setting allows it. */
  readonly doubtsOf: (url: URL) => readonly string[]
  /** Why this model cannot be called; null if it can. */
  readonly modelFault: (model: string) => string | null
  readonly hasProxy: boolean
  /** Channels that have their tokens. */
  readonly channels: readonly ChannelName[]
}

/**
 * One sentence with a repair for each valid setting of `config/settings.json` that currently has no effect. Such a
 * setting may take effect later: an agent may be created, a credential added, an address allowed. Pure.
 */
export function settingNotices(settings: Settings, known: KnownThings): readonly string[] {
  return [
    ...agentNotices(settings, known),
    ...modelNotices(settings, known),
    ...providerNotices(settings, known),
    ...egressNotices(settings, known),
    ...searchNotices(settings, known),
    ...captchaNotices(settings, known),
    ...walletNotices(settings, known),
    ...channelNotices(settings, known),
    ...(settings.spawning.per_parent > settings.spawning.fleet
      ? [
          `spawning.per_parent: ${settings.spawning.per_parent} is never reached, because spawning.fleet allows only ${settings.spawning.fleet} of all agents together`,
        ]
      : []),
  ]
}

/** The notice for a name without an agent; also used for names in permission records. */
export function unknownAgent(field: string, agentId: string, agents: readonly string[]): string {
  const near = nearestName(agentId, agents)
  const repair =
    near === null ? 'the setting takes effect once an agent with this id is created' : `did you mean ${near}?`
  return `${field}: there is no agent ${agentId}; ${repair}`
}

function agentNotices({ agents, egress }: Settings, known: KnownThings): readonly string[] {
  const named = [
    ...Object.keys(agents).map((id) => ['agents', id] as const),
    ...Object.keys(egress.allowed_hosts).map((id) => ['egress.allowed_hosts', id] as const),
  ]
  return named.flatMap(([field, id]) =>
    known.agents.includes(id) ? [] : [unknownAgent(`${field}.${id}`, id, known.agents)],
  )
}

function modelNotices(settings: Settings, { modelFault }: KnownThings): readonly string[] {
  const named: (readonly [field: string, model: string | undefined])[] = [
    ['default_model', settings.default_model],
    ['embedding_model', settings.embedding_model],
    ['channels.voice.model', settings.channels.voice?.model],
    ['models.heartbeat', settings.models.heartbeat],
    ['models.compaction', settings.models.compaction],
    ...[...modelEntries(settings)].flatMap(([name, { fallback = [] }]) => [
      [`models."${name}"`, name] as const,
      ...fallback.map((other) => [`models."${name}".fallback`, other] as const),
    ]),
    ...Object.entries(settings.agents).flatMap(([id, { models }]) =>
      models.map((model) => [`agents.${id}.models`, model] as const),
    ),
  ]
  return named.flatMap(([field, model]) => {
    const fault = model === undefined || model === '*' ? null : modelFault(model)
    return fault === null ? [] : [`${field}: ${fault}`]
  })
}

/** Matches a full endpoint, which is no base address, because clients append these paths themselves. */
const wholeEndpoint = /\/(?:chat\/completions|completions|messages|embeddings|responses)\/?$/

function providerNotices({ providers }: Settings, { systemNames }: KnownThings): readonly string[] {
  return Object.entries(providers).flatMap(([name, provider]) => {
    const field = `providers.${name}`
    const missing =
      'api_key' in provider && provider.api_key !== undefined
        ? missingCredential(`${field}.api_key`, provider.api_key, systemNames)
        : []
    const address = 'base_url' in provider && provider.base_url !== undefined ? provider.base_url : null
    return [...missing, ...(address === null ? [] : baseUrlNotices(`${field}.base_url`, new URL(address)))]
  })
}

/** Notices about an address to which the mesh appends paths; the outbound filter is not checked. */
function baseUrlNotices(field: string, url: URL): readonly string[] {
  return [
    ...(url.username === '' && url.password === ''
      ? []
      : [`${field}: a user name or a password in an address is refused; use a credential instead`]),
    ...(url.search === '' && url.hash === ''
      ? []
      : [`${field}: paths are appended to it, so ? and # break it; remove what follows them`]),
    ...(wholeEndpoint.test(url.pathname)
      ? [
          `${field}: the address is that of a whole endpoint, and the mesh appends paths to it; end the address before ${wholeEndpoint.exec(url.pathname)?.[0] ?? ''}, as in https://api.example.com/v1`,
        ]
      : []),
    ...(url.hostname === '0.0.0.0' || url.hostname === '[::]'
      ? [`${field}: ${url.hostname} is an address to listen on, which cannot be called; write 127.0.0.1`]
      : []),
    ...(url.port === '0' ? [`${field}: no server listens on port 0`] : []),
  ]
}

function egressNotices({ egress }: Settings, { doubtsOf, hasProxy }: KnownThings): readonly string[] {
  const places = egress.allowed_private.flatMap((place) => {
    const field = `egress.allowed_private: ${place}`
    if (!URL.canParse(`https://${place}`)) return [`${field}: the port is not a number from 1 to 65535`]
    return doubtsOf(new URL(`https://${place}`)).map((doubt) => `${field}: ${doubt}`)
  })
  const hosts = Object.entries(egress.allowed_hosts).flatMap(([id, patterns]) =>
    patterns.flatMap((pattern) => {
      const host = pattern.includes(':') ? `[${pattern}]` : pattern
      if (
        !URL.canParse(`http://${host}`) ||
        isIP(new URL(`http://${host}`).hostname.replace(/^\[|\]$/g, '')) === 0
      )
        return []
      const url = new URL(`https://${host}`)
      const isOpened = egress.allowed_private.some((place) => place.startsWith(`${url.hostname}:`))
      return isOpened ? [] : doubtsOf(url).map((doubt) => `egress.allowed_hosts.${id}: ${pattern}: ${doubt}`)
    }),
  )
  const servers = egress.dns_servers.flatMap((server) =>
    isNameServer(server)
      ? []
      : [
          `egress.dns_servers: ${server} is not the address of a name server, so the mesh cannot resolve names; write 192.0.2.53, 192.0.2.53:5353 or [2001:db8::53]:53`,
        ],
  )
  return [
    ...places,
    ...hosts,
    ...servers,
    ...(egress.use_proxy && !hasProxy
      ? [
          'egress.use_proxy: no proxy is set; set HTTPS_PROXY and HTTP_PROXY in the environment of the mesh or in .env',
        ]
      : []),
    ...(egress.proxy_resolves_names && !hasProxy
      ? [
          'egress.proxy_resolves_names: no proxy is set; set HTTPS_PROXY and HTTP_PROXY in the environment of the mesh or in .env',
        ]
      : []),
  ]
}

function isNameServer(text: string): boolean {
  const [, bracketed, plain, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? []
  const isPort = port === undefined || (Number(port) > 0 && Number(port) < 65_536)
  return isIP(text) !== 0 || (isPort && (isIP(bracketed ?? '') === 6 || isIP(plain ?? '') === 4))
}

function searchNotices({ web_search: search }: Settings, known: KnownThings): readonly string[] {
  if (search === undefined) return []
  const credential = search.provider === 'searxng' ? undefined : search.credential
  return [
    ...(credential === undefined
      ? []
      : missingCredential('web_search.credential', credential, known.systemNames)),
    ...addressNotices('web_search.url', search.url, known),
  ]
}

function captchaNotices({ browser: { captcha } }: Settings, known: KnownThings): readonly string[] {
  return [
    ...addressNotices('browser.captcha.solver_url', captcha.solver_url, known),
    ...addressNotices('browser.captcha.secondary_solver_url', captcha.secondary_solver_url, known),
    ...(captcha.daily_usd > 0 && captcha.daily_usd < captcha.answer_usd
      ? [
          `browser.captcha.daily_usd: ${captcha.daily_usd} is less than the reservation for one CAPTCHA (answer_usd: ${captcha.answer_usd}), so the solver is never used`,
        ]
      : []),
  ]
}

/** How many sources must agree on a price. */
const agreeingSources = 2
/** Matches an entry as `sign-payment` compares it: chain, contract, and the signature of the function. */
const unsimulated = /^[a-z0-9-]+:(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}):.+$/

function walletNotices({ wallet }: Settings, known: KnownThings): readonly string[] {
  const chains = Object.entries(wallet.chains).flatMap(([name, chain]) => {
    const field = `wallet.chains.${name}`
    if (chain.rpc_credential !== undefined)
      return missingCredential(`${field}.rpc_credential`, chain.rpc_credential, known.systemNames)
    return addressNotices(`${field}.rpc_url`, chain.rpc_url, known)
  })
  const kinds = new Set(wallet.price_sources.map(({ kind }) => kind))
  return [
    ...chains,
    ...wallet.price_sources.flatMap(({ kind, url }) =>
      addressNotices(`wallet.price_sources (${kind})`, url, known),
    ),
    ...(kinds.size < agreeingSources
      ? [
          `wallet.price_sources: ${kinds.size} of different kinds, and ${agreeingSources} must agree, so no payment has a price; name at least ${agreeingSources}`,
        ]
      : []),
    ...(wallet.spend_limit_daily_usd > 0 && wallet.spend_limit_per_tx_usd > wallet.spend_limit_daily_usd
      ? [
          `wallet.spend_limit_per_tx_usd: ${wallet.spend_limit_per_tx_usd} is never reached, because wallet.spend_limit_daily_usd allows only ${wallet.spend_limit_daily_usd} a day`,
        ]
      : []),
    ...wallet.allow_unsimulated.flatMap((entry) =>
      unsimulated.test(entry)
        ? []
        : [
            `wallet.allow_unsimulated: ${entry} matches no call; write CHAIN:ADDRESS:FUNCTION, as base:0x...:stake(uint256)`,
          ],
    ),
  ]
}

function channelNotices({ channels }: Settings, known: KnownThings): readonly string[] {
  const isOff = (name: ChannelName) => !known.channels.includes(name)
  const addresses = (['telegram', 'discord', 'slack', 'whatsapp'] as const).flatMap((name) => {
    const url = channels[name]?.api_url
    if (url === undefined) return []
    const field = `channels.${name}.api_url`
    return [...baseUrlNotices(field, new URL(url)), ...(isOff(name) ? [switchedOff(field, name)] : [])]
  })
  const { to, quiet_hours: quiet } = channels.notices
  const webhook = channels.webhook?.url
  return [
    ...addresses,
    ...(webhook !== undefined && new URL(webhook).username !== ''
      ? ['channels.webhook.url: a user name in an address is refused; events are signed instead']
      : []),
    ...(webhook !== undefined && isOff('webhook') ? [switchedOff('channels.webhook.url', 'webhook')] : []),
    ...to.filter(isOff).map((name) => switchedOff('channels.notices.to', name)),
    ...(to.length > 0 && channels.notices.about.length === 0
      ? [
          'channels.notices.about: the list is empty, so no notice is ever sent; remove the setting for all notices',
        ]
      : []),
    ...(quiet !== null && quiet.from === quiet.to
      ? [`channels.notices.quiet_hours: the quiet hours begin and end at ${quiet.from}, so they never apply`]
      : []),
  ]
}

function switchedOff(field: string, name: ChannelName): string {
  return `${field}: ${name} is not switched on; flotilla channels add ${name}`
}

/** Notices about an address that the mesh calls through the outbound filter. */
function addressNotices(
  field: string,
  address: string | undefined,
  { doubtsOf }: KnownThings,
): readonly string[] {
  if (address === undefined) return []
  const url = new URL(address)
  if (url.username !== '' || url.password !== '')
    return [`${field}: a user name or a password in an address is refused; use a credential instead`]
  return doubtsOf(url).map((doubt) => `${field}: ${doubt.replaceAll(' to agents', '')}`)
}

function missingCredential(field: string, name: string, systemNames: readonly string[]): readonly string[] {
  return systemNames.includes(name.toLowerCase())
    ? []
    : [
        `${field}: there is no credential ${name}; put FLOTILLA_SYSTEM_${name.toUpperCase()}=... into .env and restart the mesh`,
      ]
}
