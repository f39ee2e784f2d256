export interface EdgeImport {
  readonly module: string
  /** Path prefixes that may import it at run time. */
  readonly allowed: readonly string[]
  readonly why: string
}

/** Modules with side effects are imported only at these places (tests may import anything). */
export const edgeImports: readonly EdgeImport[] = [
  {
    module: '@kubernetes/client-node',
    allowed: ['packages/fleet/src/sandbox/'],
    why: 'one client, one room',
  },
  { module: 'dockerode', allowed: ['packages/fleet/src/sandbox/'], why: 'one engine, one room' },
  {
    module: 'node:sqlite',
    allowed: [
      'packages/foundation/src/storage/database.ts',
      'packages/foundation/src/storage/copy-database.ts',
      'packages/agent/src/memory/memory-database.ts',
    ],
    why: 'one way to each database: the mesh’s, its copies, and an agent’s memory',
  },
  {
    module: 'ws',
    allowed: [
      'packages/identity/src/http/',
      'packages/inbound/src/channels/adapters/discord/load-discord.ts',
      'packages/browser/src/screen/',
      'packages/testing/src/fake-browser.ts',
    ],
    why: 'the servers, what Discord’s client connects by, the screen of a browser, and its fake',
  },
  {
    module: 'playwright-core',
    allowed: ['packages/browser/src/launch/launch-browser.ts'],
    why: 'what drives Chromium is loaded with its first launch',
  },
  { module: 'fastify', allowed: ['packages/identity/src/http/'], why: 'the servers' },
  {
    module: 'undici',
    allowed: [
      'packages/inference/src/models/',
      'packages/egress/src/egress/',
      'packages/egress/src/inspection/terminate/connect-upstream.ts',
      'packages/fleet/src/agents/connection/agent-http.ts',
      'packages/inbound/src/channels/adapters/',
      'packages/foundation/src/platform/proxied-agent.ts',
    ],
    why: 'calls that leave the mesh',
  },
  {
    module: 'grammy',
    allowed: ['packages/inbound/src/channels/adapters/telegram/'],
    why: 'one platform, one room',
  },
  {
    module: 'markdown-it',
    allowed: [
      'packages/inbound/src/channels/text/read-markdown.ts',
      'packages/cli/src/terminal/markdown-stream.ts',
    ],
    why: 'what agents say is read once for all platforms, and line by line for the terminal',
  },
  { module: 'pino', allowed: ['packages/foundation/src/platform/log.ts'], why: 'one log' },
  {
    module: '@pydantic/genai-prices',
    allowed: [
      'packages/inference/src/models/catalog/model-prices.ts',
      'packages/inference/src/models/catalog/voice-price.ts',
      'packages/inference/src/models/catalog/model-window.ts',
    ],
    why: 'one list of prices and windows',
  },
  {
    module: '@ai-sdk/anthropic',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/google',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/mistral',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/openai',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/cohere',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/amazon-bedrock',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@ai-sdk/azure',
    allowed: ['packages/inference/src/models/providers/ai-sdk/load-sdk.ts'],
    why: 'providers with wires of their own, loaded with the first call',
  },
  {
    module: '@opentelemetry/api',
    allowed: [
      'packages/operations/src/telemetry/export-spans.ts',
      'packages/operations/src/telemetry/follow-refusals.ts',
    ],
    why: 'loaded where an owner set up OTLP, and nowhere else',
  },
  {
    module: '@opentelemetry/sdk-trace',
    allowed: ['packages/operations/src/telemetry/export-spans.ts'],
    why: 'loaded where an owner set up OTLP, and nowhere else',
  },
  {
    module: '@opentelemetry/resources',
    allowed: ['packages/operations/src/telemetry/export-spans.ts'],
    why: 'loaded where an owner set up OTLP, and nowhere else',
  },
  {
    module: '@opentelemetry/exporter-trace-otlp-proto',
    allowed: ['packages/operations/src/telemetry/export-spans.ts'],
    why: 'loaded where an owner set up OTLP, and nowhere else',
  },
  {
    module: 'discord.js',
    allowed: ['packages/inbound/src/channels/adapters/discord/'],
    why: 'loaded when the channel starts, and only where its token is set',
  },
  {
    module: '@slack/socket-mode',
    allowed: ['packages/inbound/src/channels/adapters/slack/'],
    why: 'loaded when the channel starts, and only where its tokens are set',
  },
  {
    module: '@slack/web-api',
    allowed: ['packages/inbound/src/channels/adapters/slack/'],
    why: 'loaded when the channel starts, and only where its tokens are set',
  },
  {
    module: 're2js',
    allowed: ['packages/inbound/src/triggers/conditions/'],
    why: 'patterns that cannot be slow',
  },
  {
    module: '@modelcontextprotocol/client',
    allowed: ['packages/agent/src/parts/mcp.ts'],
    why: 'loaded with the first server of an agent that has one',
  },
  {
    module: '@agentclientprotocol/sdk',
    allowed: ['packages/agent/src/parts/acp.ts'],
    why: 'loaded with the first run of an agent that has a harness',
  },
  {
    module: '@modelcontextprotocol/server',
    allowed: ['packages/agent/src/parts/mcp-server.ts'],
    why: 'loaded with the first run of an agent that has a harness',
  },
  { module: 'commander', allowed: ['packages/cli/src/'], why: 'people’s side only' },
  {
    module: 'node:child_process',
    allowed: [
      'packages/fleet/src/sandbox/',
      'packages/operations/src/backup/backup-program.ts',
      'packages/foundation/src/platform/remove-tree.ts',
      'packages/agent/src/builtin-tools/',
      'packages/agent/src/skills/run-skill.ts',
      'packages/agent/src/programs/piped-program.ts',
      'packages/browser/src/launch/open-screen.ts',
      'packages/cli/src/',
    ],
    why: 'programs are started by the sandbox adapters, for a backup that a page asks for, the removal of deep trees, the shell tool, the runner of skills, MCP servers and harnesses, the screen of a browser and the command line',
  },
]
