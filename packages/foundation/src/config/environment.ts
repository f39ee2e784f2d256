import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { isolationRungs } from '@flotilla/protocol/isolation'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { clamp, limits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { nearestName } from '@flotilla/protocol/nearest-name'
import { runtimeNames } from '@flotilla/protocol/runtime-names'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import { readProxies } from './proxy-environment.ts'
import type { ProxyRules } from './proxy-environment.ts'
import { readOtlp } from './otlp-environment.ts'
import type { OtlpSettings } from './otlp-environment.ts'

/** Settings of one process, from its environment; settings.json has everything that can change while it runs. */
export interface Environment {
  readonly home: string
  /** People's API on loopback. */
  readonly port: number
  /** Agent API on the fleet's private network. */
  readonly agentPort: number
  /** The address at which other machines reach the people's API with a session cookie; null for none. */
  readonly publicBind: { readonly host: string; readonly port: number } | null
  readonly logLevel: (typeof logLevels)[number]
  readonly noInstall: boolean
  readonly requireEngine: boolean
  readonly engineSocket: string | null
  readonly runtime: RuntimeName | null
  /** Settings for agents that run as pods. */
  readonly kubernetes: KubernetesEnvironment
  /** The minimum isolation level of every agent, if available; null leaves the choice to the settings. */
  readonly isolation: IsolationRung | null
  readonly defaultModel: string | null
  /** Where the default model is set; `.env` only if the process's environment does not set it. */
  readonly defaultModelFrom: 'environment' | '.env'
  readonly maxIterations: number
  readonly chatMaxToolRounds: number
  readonly chatMaxTotalRounds: number
  /** Where traces are exported; null for no export. */
  readonly otlp: OtlpSettings | null
  /** Which of the mesh's own connections use a company's proxy. */
  readonly proxies: ProxyRules
  /** One sentence for each FLOTILLA_ variable that is set without effect. */
  readonly warnings: readonly string[]
  /** One sentence per invalid value of `.env` that a command ignored; a mesh does not start with such values. */
  readonly leftOut: readonly string[]
}

/** Null uses the value of an earlier start of the home, or the cluster's default. */
export interface KubernetesEnvironment {
  /** The name of a context of the kubeconfig. */
  readonly context: string | null
  readonly namespace: string | null
  /** The address at which pods reach the mesh. */
  readonly address: string | null
  /** The name of the agent image in the registry that the nodes use. */
  readonly image: string | null
  /** Path of our seccomp profile below the kubelet's own folder, or `runtime-default`. */
  readonly seccomp: string | null
  readonly storageClass: string | null
  /** Address of the Service in front of the APIs, if the mesh is a pod itself. */
  readonly service: string | null
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** Names with these prefixes are credentials; the vault reads them. */
const credentialPrefixes = ['FLOTILLA_SYSTEM_', 'FLOTILLA_CRED_'] as const

const text = z.string().min(1).optional()
const port = z.coerce.number().int().min(0).max(65_535).optional()
/** `ADDRESS:PORT`, an IPv6 address in brackets. */
const bind = z
  .string()
  .regex(
    /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):\d{1,5}$/,
    'expected ADDRESS:PORT, such as 0.0.0.0:8443',
  )
  .transform((text) => {
    const at = text.lastIndexOf(':')
    return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) }
  })
  .refine(({ port: number }) => number <= 65_535, 'a port is at most 65535')
  .optional()
const count = z.coerce.number().optional()
const flag = z
  .stringbool({ truthy: ['1', 'true', 'yes', 'on'], falsy: ['0', 'false', 'no', 'off'] })
  .optional()

const environmentSchema = z.object({
  FLOTILLA_HOME: text,
  FLOTILLA_PORT: port,
  FLOTILLA_AGENT_PORT: port,
  FLOTILLA_PUBLIC_BIND: bind,
  FLOTILLA_LOG_LEVEL: z.enum(logLevels).optional(),
  FLOTILLA_NO_INSTALL: flag,
  FLOTILLA_REQUIRE_ENGINE: flag,
  FLOTILLA_ENGINE_SOCKET: text,
  FLOTILLA_RUNTIME: z.enum(runtimeNames).optional(),
  FLOTILLA_KUBERNETES_CONTEXT: text,
  FLOTILLA_KUBERNETES_NAMESPACE: z
    .string()
    .regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/, 'expected 1 to 63 of a-z 0-9 -')
    .optional(),
  FLOTILLA_KUBERNETES_ADDRESS: z.ipv4('expected an IPv4 address, such as 10.0.0.5').optional(),
  FLOTILLA_KUBERNETES_IMAGE: text,
  FLOTILLA_KUBERNETES_SECCOMP: text,
  FLOTILLA_KUBERNETES_STORAGE_CLASS: text,
  FLOTILLA_KUBERNETES_SERVICE: z.ipv4('expected an IPv4 address, such as 10.96.0.5').optional(),
  FLOTILLA_ISOLATION: z.enum(isolationRungs).optional(),
  FLOTILLA_DEFAULT_MODEL: text,
  /** Only the backup commands read it. */
  FLOTILLA_BACKUP_PASSPHRASE: text,
  FLOTILLA_MAX_ITERATIONS: count,
  FLOTILLA_CHAT_MAX_TOOL_ROUNDS: count,
  FLOTILLA_CHAT_MAX_TOTAL_ROUNDS: count,
})

export const environmentNames: readonly string[] = Object.keys(environmentSchema.shape)

/**
 * Variables of the mesh's addresses. A mesh in a pod takes them only from its manifests: `.env` of its home may come
 * from another machine with other addresses.
 */
const placeNames: readonly string[] = [
  'FLOTILLA_PORT',
  'FLOTILLA_AGENT_PORT',
  'FLOTILLA_PUBLIC_BIND',
  'FLOTILLA_ENGINE_SOCKET',
  'FLOTILLA_RUNTIME',
  ...environmentNames.filter((name) => name.startsWith('FLOTILLA_KUBERNETES_')),
]
/** Set if the mesh is a pod. */
const podName = 'FLOTILLA_KUBERNETES_SERVICE'

/** The variable with the home folder. `.env` cannot set it, because the mesh finds `.env` in the home folder. */
const homeName = 'FLOTILLA_HOME'

/** Variables that the command line reads only from its own environment, with the warning if `.env` sets them. */
export const commandLineNames: Readonly<Record<string, string>> = {
  FLOTILLA_URL: 'has no effect here: only the command line reads it, from its own environment',
  FLOTILLA_SESSION: 'has no effect here: only the command line reads it, from its own environment',
  FLOTILLA_TOKEN: 'has no effect here: only the command line reads it, from its own environment',
  FLOTILLA_REQUIRE_ENGINE: 'has no effect here: only the command line reads it, from its own environment',
  FLOTILLA_NO_INSTALL: 'applies to the mesh only: the command line reads it from its own environment',
}

type Variables = Readonly<Record<string, string | undefined>>

/** The home folder of a process with this environment. Pure. */
export function homeOf(record: Variables, userHome: string = homedir()): string {
  const named = record[homeName]
  return resolve(named === undefined || named === '' ? join(userHome, '.flotilla') : named)
}

/**
 * Parses the variables that `main` passes in and those of the home's `.env`; a variable from `main` overrides one of
 * `.env`. No other code of the mesh reads them, except the vault for its two prefixes. An empty value counts as
 * absent. Throws the Problem `unprocessable`, which names every invalid value.
 */
export function readEnvironment(
  record: Variables,
  userHome: string = homedir(),
  file: ReadonlyMap<string, string> = new Map(),
): Environment {
  const present = presentIn(record)
  const { written, idle } = writtenIn(file, present)
  const parsed = parseVariables(present, written)
  if (!parsed.success) {
    const wrong = wrongIn(parsed.error, present).map(({ message }) => message)
    throw new Problem('unprocessable', { detail: `invalid settings of the mesh: ${wrong.join('; ')}` })
  }
  const value = parsed.data
  const { otlp, warnings } = readOtlp({ ...written, ...present })
  return {
    home: homeOf(record, userHome),
    port: value.FLOTILLA_PORT ?? 8420,
    agentPort: value.FLOTILLA_AGENT_PORT ?? 8420,
    publicBind: value.FLOTILLA_PUBLIC_BIND ?? null,
    logLevel: value.FLOTILLA_LOG_LEVEL ?? 'info',
    noInstall: value.FLOTILLA_NO_INSTALL ?? false,
    requireEngine: value.FLOTILLA_REQUIRE_ENGINE ?? false,
    engineSocket: value.FLOTILLA_ENGINE_SOCKET ?? null,
    runtime: value.FLOTILLA_RUNTIME ?? null,
    kubernetes: {
      context: value.FLOTILLA_KUBERNETES_CONTEXT ?? null,
      namespace: value.FLOTILLA_KUBERNETES_NAMESPACE ?? null,
      address: value.FLOTILLA_KUBERNETES_ADDRESS ?? null,
      image: value.FLOTILLA_KUBERNETES_IMAGE ?? null,
      seccomp: value.FLOTILLA_KUBERNETES_SECCOMP ?? null,
      storageClass: value.FLOTILLA_KUBERNETES_STORAGE_CLASS ?? null,
      service: value.FLOTILLA_KUBERNETES_SERVICE ?? null,
    },
    isolation: value.FLOTILLA_ISOLATION ?? null,
    defaultModel: value.FLOTILLA_DEFAULT_MODEL ?? null,
    defaultModelFrom: present['FLOTILLA_DEFAULT_MODEL'] === undefined ? '.env' : 'environment',
    maxIterations: Math.round(clamp(limits.taskIterations, value.FLOTILLA_MAX_ITERATIONS)),
    chatMaxToolRounds: Math.round(clamp(limits.chatRoundsPerTurn, value.FLOTILLA_CHAT_MAX_TOOL_ROUNDS)),
    chatMaxTotalRounds: Math.round(clamp(limits.chatRoundsPerSession, value.FLOTILLA_CHAT_MAX_TOTAL_ROUNDS)),
    otlp,
    proxies: readProxies(present, written),
    warnings: [
      ...warnings,
      ...unknownNames(Object.keys(present), ''),
      ...unknownNames(
        Object.keys(written).filter((name) => !(name in commandLineNames)),
        ' in .env',
      ),
      ...(homeName in written
        ? [`${homeName} in .env has no effect, because the file .env is inside the home`]
        : []),
      ...Object.entries(commandLineNames)
        .filter(([name]) => name in written)
        .map(([name, text]) => `${name} in .env ${text}`),
      ...idle.map((name) => `${name} in .env has no effect in a pod: set it in the manifest of the pod`),
    ],
    leftOut: [],
  }
}

/** Reads the environment, ignoring invalid values of `.env`. Throws for invalid ones of the process's environment. */
export function readWhatHolds(
  record: Variables,
  userHome: string = homedir(),
  file: ReadonlyMap<string, string> = new Map(),
): Environment {
  const present = presentIn(record)
  const parsed = parseVariables(present, writtenIn(file, present).written)
  const wrong = parsed.success ? [] : wrongIn(parsed.error, present).filter(({ name }) => !(name in present))
  const rest = [...file].filter(([name]) => !wrong.some((one) => one.name === name))
  return {
    ...readEnvironment(record, userHome, new Map(rest)),
    leftOut: wrong.map(({ message }) => message),
  }
}

function parseVariables(present: Record<string, string>, written: Record<string, string>) {
  return environmentSchema.safeParse({ ...written, ...present, [homeName]: present[homeName] })
}

/** The valid values of `.env`, and the names of the invalid ones. */
function writtenIn(file: ReadonlyMap<string, string>, present: Readonly<Record<string, string>>) {
  const all = Object.entries(presentIn(Object.fromEntries(file)))
  const isIdle = (name: string) => podName in present && placeNames.includes(name)
  return {
    written: Object.fromEntries(all.filter(([name]) => !isIdle(name))),
    idle: all.map(([name]) => name).filter(isIdle),
  }
}

/** Returns the names of the invalid variables, with a text for each that does not contain its value. */
function wrongIn(error: z.ZodError, present: Readonly<Record<string, string>>) {
  return error.issues.map(({ path, message: issue }) => {
    const name = path.join('.')
    return { name, message: `${name}${name in present ? '' : ' in .env'}: ${issue}` }
  })
}

function presentIn(record: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '',
    ),
  )
}

function unknownNames(names: readonly string[], where: string): string[] {
  return names
    .filter((name) => name.startsWith('FLOTILLA_') && !environmentNames.includes(name))
    .filter((name) => !credentialPrefixes.some((prefix) => name.startsWith(prefix)))
    .map((name) => {
      const nearest = nearestName(name, environmentNames)
      return `${name}${where} is not a known setting${nearest === null ? '' : `; did you mean ${nearest}?`}`
    })
}
