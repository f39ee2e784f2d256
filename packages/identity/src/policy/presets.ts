import type { PresetName } from './preset-names.ts'
import type { Match, WrittenPreset, WrittenRule } from './policy-schema.ts'

interface PresetRule {
  readonly name: string
  readonly verdict: WrittenRule['verdict']
  readonly match: Omit<Match, 'host' | 'agent'>
  readonly reason: string
  readonly when?: string
  readonly excepts?: readonly string[]
}

interface Preset {
  readonly hosts: readonly string[]
  readonly rules: readonly PresetRule[]
}

const reads = ['GET', 'HEAD']
/** Every method that is not known to read, because a server may have its own methods. */
const isWrite = '!(method in ["GET", "HEAD", "OPTIONS"])'
/**
 * Whether a path may be that of a repository. The APIs of git hosts write files at paths that an agent chooses, such as
 * `/repos/a/b/contents/git-upload-pack`; on servers below a folder their names begin with `api/v`.
 */
const isNoApi = [
  'host.startsWith("api.")',
  ...['api', '!api', 'repos'].map((first) => `path.lowerAscii().startsWith("/${first}/")`),
  ...['api/v', '-/'].map((part) => `path.lowerAscii().contains("/${part}")`),
]
  .map((isApi) => `!${isApi}`)
  .join(' && ')
const writesAsked = (reason: string): readonly PresetRule[] => [
  { name: 'writes', verdict: 'ask', match: {}, when: isWrite, reason },
  { name: 'reads', verdict: 'allow', match: { method: reads }, reason: 'Reading is allowed.' },
]

/** The rules of each preset; names and paths are those that the services document. */
const presets: Readonly<Record<Exclude<PresetName, 'mcp'>, Preset>> = {
  'git-host': {
    hosts: [
      'github.com',
      'api.github.com',
      'uploads.github.com',
      'gist.github.com',
      'gitlab.com',
      'bitbucket.org',
      'api.bitbucket.org',
      'codeberg.org',
    ],
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
        match: { method: ['POST'], path: ['**/git-upload-pack'] },
        when: isNoApi,
        reason: 'Cloning and fetching only read.',
        excepts: ['git-host/writes'],
      },
      {
        // The API of a host commits, merges and deletes as well. A push is left to the rule "push", so that an exception
        // from that rule allows it.
        name: 'writes',
        verdict: 'ask',
        match: {},
        when: `${isWrite} && !(method == "POST" && path.endsWith("/git-receive-pack") && ${isNoApi})`,
        reason: 'A write may change the repository.',
      },
    ],
  },
  npm: {
    // The second host passes what is published on to the first.
    hosts: ['registry.npmjs.org', 'registry.yarnpkg.com'],
    rules: [
      ...writesAsked('Publishing a package cannot be taken back.'),
      {
        name: 'audits',
        verdict: 'allow',
        match: { method: ['POST'], path: ['/-/npm/v1/security/**'] },
        reason: 'An installation asks about known faults of packages.',
        excepts: ['npm/writes'],
      },
    ],
  },
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
        match: { path: ['/api/**', '/services/**', '/workflows/**', '/triggers/**', '/upload/**'] },
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
    hosts: ['api.stripe.com', 'connect.stripe.com', 'files.stripe.com'],
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
