import type { Endpoint } from '@flotilla/protocol/endpoint'
import { authenticationTable } from '../tests/security/authentication-table.ts'
import { endpointTables } from '../tests/support/all-endpoints.ts'

/** The endpoint tables of servers that run inside containers; the mesh has some of the same paths. */
const inContainers = {
  agentEndpoints: 'The mesh calls these endpoints of the agent process, with a token of its own.',
  browserServiceEndpoints: 'The mesh calls these endpoints of the program in a browser container.',
} as const

/**
 * Returns docs/reference/endpoints.md, made from the endpoint tables of the protocol and from the authentication
 * table.
 */
export async function endpointDocs(): Promise<string> {
  const tables = await endpointTables()
  const ofMesh = new Map(
    [...tables]
      .filter(([name]) => !(name in inContainers))
      .flatMap(([, endpoints]) => endpoints.map((endpoint) => [callOf(endpoint), endpoint] as const)),
  )
  const { people, ...surfaces } = authenticationTable
  const ofPeople = Object.entries(people).map(([call, role]) => ({ endpoint: find(ofMesh, call), role }))
  const isPage = ({ endpoint }: { readonly endpoint: Endpoint }) =>
    !/^\/(?:api|agent-vnc)\//.test(endpoint.path)
  const rows = (calls: readonly string[]) => table(calls.map((call) => find(ofMesh, call)))
  return [
    '# Endpoints',
    '',
    'Generated from `packages/protocol/src/*-api.ts` by `npm run docs`. [HTTP API](http-api.md) says how each surface checks its',
    'callers. `{name}` is one segment of a path, `{*name}` one or more.',
    '',
    '## People',
    '',
    'The role is the least that may call. A member changes only the agents granted to them ([people](../people.md)).',
    '',
    ...tableWithRoles(ofPeople.filter((row) => !isPage(row))),
    '',
    '## Pages and files of the dashboard',
    '',
    ...tableWithRoles(ofPeople.filter(isPage)),
    '',
    '## Agents',
    '',
    'Called with the agent token, during an active run of the agent. The permission record decides about each call.',
    '',
    ...rows(surfaces.agent),
    '',
    '## The operator',
    '',
    'Called with the agent token of the operator.',
    '',
    ...rows(surfaces.operator),
    '',
    '## The operator, or a program on this machine',
    '',
    ...rows(surfaces.operatorOrInternal),
    '',
    '## Programs on this machine',
    '',
    ...rows(surfaces.internal),
    '',
    '## Model gateway',
    '',
    'Called with the agent token or the program token, during an active run of the agent.',
    '',
    ...rows(surfaces.models),
    '',
    '## Public',
    '',
    ...rows(surfaces.public),
    '',
    '## Inside containers',
    '',
    ...Object.entries(inContainers).flatMap(([name, words]) => [
      words,
      '',
      ...table(tables.get(name) ?? []),
      '',
    ]),
  ].join('\n')
}

function table(endpoints: readonly Endpoint[]): readonly string[] {
  const rows = inOrder(endpoints, (endpoint) => endpoint)
  return [
    '| call | what it does |',
    '|---|---|',
    ...rows.map((endpoint) => `| \`${callOf(endpoint)}\` | ${endpoint.summary} |`),
  ]
}

interface PeopleRow {
  readonly endpoint: Endpoint
  readonly role: string
}

function tableWithRoles(rows: readonly PeopleRow[]): readonly string[] {
  return [
    '| call | role | what it does |',
    '|---|---|---|',
    ...inOrder(rows, ({ endpoint }) => endpoint).map(
      ({ endpoint, role }) => `| \`${callOf(endpoint)}\` | ${role} | ${endpoint.summary} |`,
    ),
  ]
}

/** Sorts by path, then by method, so that calls to the same resource are adjacent. */
function inOrder<Row>(rows: readonly Row[], endpointOf: (row: Row) => Endpoint): readonly Row[] {
  const key = (row: Row) => `${endpointOf(row).path} ${endpointOf(row).method}`
  return rows.toSorted((one, other) => (key(one) < key(other) ? -1 : 1))
}

function callOf({ method, path }: Endpoint): string {
  return `${method} ${path}`
}

function find(endpoints: ReadonlyMap<string, Endpoint>, call: string): Endpoint {
  const endpoint = endpoints.get(call)
  if (!endpoint) throw new Error(`no endpoint table declares ${call}`)
  return endpoint
}
