import type { PresetName } from './preset-names.ts'
import type { Match, WrittenPreset, WrittenRule } from './policy-schema.ts'

interface PresetRule {
  readonly name: string
  readonly verdict: WrittenRule['verdict']
  readonly match: Omit<Match, 'host' | 'agent'>
  readonly reason: string
  readonly excepts?: readonly string[]
}

interface Preset {
  readonly hosts: readonly string[]
  readonly rules: readonly PresetRule[]
}

const writes = ['POST', 'PUT', 'PATCH', 'DELETE']
const reads = ['GET', 'HEAD']
const writesAsked = (reason: string): readonly PresetRule[] => [
  { name: 'writes', verdict: 'ask', match: { method: writes }, reason },
  { name: 'reads', verdict: 'allow', match: { method: reads }, reason: 'Reading is allowed.' },
]

/** The rules of each preset; names and paths are those that the services document. */
const presets: Readonly<Record<Exclude<PresetName, 'mcp'>, Preset>> = {
  'git-host': {
    hosts: ['github.com', 'gitlab.com', 'bitbucket.org', 'codeberg.org'],
    rules: [
      {
        name: 'push',
        verdict: 'ask',
        match: { path: ['**/git-receive-pack'] },
        reason: 'A push changes the repository.',
      },
      {
        name: 'clone',
        verdict: 'allow',
        match: { path: ['**/git-upload-pack', '**/info/refs'] },
        reason: 'Cloning and fetching only read.',
      },
    ],
  },
  npm: { hosts: ['registry.npmjs.org'], rules: writesAsked('Publishing a package cannot be taken back.') },
  pypi: {
    hosts: ['upload.pypi.org', 'pypi.org', 'test.pypi.org'],
    rules: writesAsked('Publishing a package cannot be taken back.'),
  },
  crates: { hosts: ['crates.io'], rules: writesAsked('Publishing a crate cannot be taken back.') },
  slack: {
    hosts: ['slack.com', '*.slack.com'],
    rules: [
      {
        // Slack's Web API takes POST for every method, so the method's own name decides.
        name: 'writes',
        verdict: 'ask',
        match: { path: ['/api/**', '/services/**', '/workflows/**', '/triggers/**'] },
        reason: 'People see what is posted.',
      },
      {
        name: 'reads',
        verdict: 'allow',
        match: { path: ['/api/*.list', '/api/*.info', '/api/*.history', '/api/*.replies', '/api/auth.test'] },
        reason: 'Reading is allowed.',
        excepts: ['slack/writes'],
      },
    ],
  },
  'payments-api': {
    hosts: ['api.stripe.com'],
    rules: writesAsked('A write may move money.'),
  },
}

/**
 * Returns the rules of a preset as if the owner had written them, each named `preset/rule`. The preset `mcp` asks for
 * each tool of a server that the owner does not list as reading; what the server says about its tools is not used,
 * because a hostile server would call every tool harmless. Pure.
 */
export function rulesOfPreset({
  preset,
  hosts,
  agent,
  server,
  reads: reading,
}: WrittenPreset): readonly WrittenRule[] {
  const of = agent === undefined ? {} : { agent }
  if (preset === 'mcp') {
    const match = { ...of, mcp_server: [server ?? '*'] }
    const label = `mcp/${server === undefined ? 'any' : server}`
    const exception: readonly WrittenRule[] =
      reading === undefined
        ? []
        : [
            {
              name: `${label}/reads`,
              match: { ...match, mcp_tool: reading },
              verdict: 'allow',
              reason: 'The owner lists these tools as reading.',
              excepts: [`${label}/calls`],
            },
          ]
    return [
      {
        name: `${label}/calls`,
        match: { ...match, mcp_tool: ['*'] },
        verdict: 'ask',
        reason: 'The tool may change something.',
      },
      ...exception,
    ]
  }
  const known = presets[preset]
  return known.rules.map((rule) => ({
    ...rule,
    name: `${preset}/${rule.name}`,
    match: { ...rule.match, ...of, host: hosts ?? known.hosts },
  }))
}
