import { meshAgentApi, meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { headers, sessionCookieName } from '@flotilla/protocol/headers'
import { meshHumanApi } from '@flotilla/protocol/mesh-human-api'
import { modelEndpoints } from '@flotilla/protocol/model-api'
import { problemJson } from '@flotilla/protocol/problem-json'
import { Problem } from '@flotilla/protocol/problem'
import { skillApi } from '@flotilla/protocol/skills-api'
import { webhookApi, webhookEndpoints } from '@flotilla/protocol/webhook-api'
import type { Command } from 'commander'
import * as z from 'zod'
import { meshLogPath } from '../../packages/cli/src/mesh-process/mesh-paths.ts'
import { dataPaths } from '../../packages/foundation/src/config/data-paths.ts'
import { environmentNames } from '../../packages/foundation/src/config/environment.ts'
import { settingsSchema } from '../../packages/foundation/src/config/settings-file.ts'
import { commandProgram } from './command-program.ts'

const program = await commandProgram()
/** Commands that also work without one of their subcommands, so that prose may follow them in a repair. */
const runAlone = new Set(['models'])
const home = '/home'
const files = [...Object.values(dataPaths(home)), meshLogPath(home)].map((path) =>
  path.slice(home.length + 1),
)
const settings = namesIn(z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' }))
const fields = new Set([
  ...[meshHumanApi, meshAgentApi, skillApi, webhookApi].flatMap((api) =>
    Object.values(api).flatMap((schemas: object) => fieldsOf(schemas)),
  ),
  ...Object.keys(problemJson(new Problem('conflict'), '')),
])
/** Paths of endpoints with their parameters in capitals, as repairs write them. */
const endpoints = new Set(
  [meshAgentEndpoints, modelEndpoints, webhookEndpoints].flatMap((some) =>
    Object.values(some).map(
      ({ method, path }) => `${method} ${path.replace('webhooks/{id}', 'webhooks/HOOK')}`,
    ),
  ),
)
const headerNames = new Set<string>([
  ...Object.values(headers),
  'authorization',
  'content-encoding',
  'content-length',
  'content-type',
  'retry-after',
])
/** Variables of the command line and of agents' programs, and tools of agents. */
const otherNames = new Set([
  'FLOTILLA_SESSION',
  'FLOTILLA_TOKEN',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  sessionCookieName,
  'http_request',
  'vault_list',
  'request_credential',
  'wallet_simulate',
])

/** Extracts what a repair names: commands with their options, variables, files, settings, headers and fields. */
export function namesOf(repair: string): {
  readonly known: readonly string[]
  readonly unknown: readonly string[]
} {
  const found: [name: string, isThere: boolean][] = []
  for (const [whole, words = ''] of repair.matchAll(/\bflotilla ([^,;.():]*)/g)) {
    found.push([whole, commandIsThere(words)])
  }
  for (const [name] of repair.matchAll(/\b[A-Z]+(?:_[A-Z]+)+\b/g)) {
    const isVariable = environmentNames.includes(name) || /^FLOTILLA_(?:SYSTEM|CRED)_/.test(name)
    found.push([name, isVariable || otherNames.has(name)])
  }
  for (const [name] of repair.matchAll(/(?:[a-z]+\/)?[a-z]*\.(?:json|yaml|log|env)\b/g)) {
    found.push([name, files.includes(name)])
  }
  const rest = repair.replace(/(?:[a-z]+\/)?[a-z]*\.(?:json|yaml|log|env)\b/g, '')
  for (const [name] of rest.matchAll(
    /\b[a-z]+(?:_[a-z]+)*(?:\.(?:[a-z]+(?:_[a-z]+)*|\*))+|\b[a-z]+(?:_[a-z]+)+\b/g,
  )) {
    found.push([name, settings.has(name) || fields.has(name) || otherNames.has(name)])
  }
  for (const [name] of rest.matchAll(/\bx-[a-z-]+|\b[A-Z][a-z]+-[A-Z][a-z]+\b|\bAuthorization\b/g)) {
    found.push([name, headerNames.has(name.toLowerCase())])
  }
  for (const [name] of repair.matchAll(/\b(?:GET|PATCH|POST|PUT|DELETE) \/[a-zA-Z0-9/{*}]+/g)) {
    found.push([name, endpoints.has(name)])
  }
  for (const [, name = ''] of rest.matchAll(/\bthe field ([a-z_]+)/g)) found.push([name, fields.has(name)])
  return {
    known: found.filter(([, isThere]) => isThere).map(([name]) => name),
    unknown: found.filter(([, isThere]) => !isThere).map(([name]) => name),
  }
}

/**
 * Reads the words after `flotilla` up to the next punctuation, and checks that they are a command with options of
 * the real program.
 */
function commandIsThere(words: string): boolean {
  let at: Command = program
  for (const word of words.split(' ')) {
    if (at.commands.length === 0 || !/^[a-z][a-z-]*$/.test(word)) break
    const next = at.commands.find((command) => command.name() === word)
    if (!next) return runAlone.has(at.name())
    at = next
  }
  if (at === program && !/^(?:COMMAND )?--help/.test(words)) return false
  const options = [...at.options, ...program.options].map(({ long }) => long)
  return [...words.matchAll(/--[a-z-]+/g)].every(([name]) => name === '--help' || options.includes(name))
}

/** Returns every path of a JSON Schema, with `*` for a name that the owner chooses, and every last name alone. */
function namesIn(schema: unknown, path: readonly string[] = []): ReadonlySet<string> {
  const names = new Set<string>(path.length === 0 ? [] : [path.join('.'), path.at(-1) ?? ''])
  if (typeof schema !== 'object' || schema === null) return names
  const at = schema as Readonly<Record<string, unknown>>
  const properties: object = typeof at['properties'] === 'object' ? (at['properties'] ?? {}) : {}
  const below: [string[], unknown][] = [
    ...Object.entries(properties).map(([name, of]): [string[], unknown] => [[...path, name], of]),
    [[...path, '*'], at['additionalProperties']],
    ...[at['anyOf'], at['oneOf'], at['allOf']].flatMap((some) =>
      ((some ?? []) as unknown[]).map((of): [string[], unknown] => [[...path], of]),
    ),
  ]
  for (const [longer, of] of below) {
    if (typeof of === 'object' && of !== null) for (const name of namesIn(of, longer)) names.add(name)
  }
  return names
}

function fieldsOf(schemas: { readonly request?: z.core.$ZodType }): readonly string[] {
  if (schemas.request === undefined) return []
  return [...namesIn(z.toJSONSchema(schemas.request, { io: 'input', unrepresentable: 'any' }))]
}
