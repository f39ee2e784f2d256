import type { HarnessName, HarnessProgram } from '@flotilla/protocol/harness-variable'

/** What the configuration of a harness names. */
interface Surroundings {
  /** The agent's model, as the gateway knows it. */
  readonly model: string
  /** Address of the gateway's OpenAI surface, ending in `/v1`. */
  readonly openAiUrl: string
}

/**
 * How each known harness is started so that it asks only the gateway, under the agent's model, and asks before it acts;
 * Codex does not ask about commands that it trusts itself. Keys are the placeholders in the variables that every
 * program of the agent has. Its own sandbox is off, where it has one: it needs kernel features that the container withholds, and the container is the sandbox.
 */
const knownHarnesses: Readonly<Record<HarnessName, (of: Surroundings) => HarnessProgram>> = {
  'claude-code': ({ model }) => ({
    command: ['claude-agent-acp'],
    environment: {
      ANTHROPIC_MODEL: model,
      ANTHROPIC_DEFAULT_OPUS_MODEL: model,
      ANTHROPIC_DEFAULT_SONNET_MODEL: model,
      ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
      CLAUDE_CODE_SUBAGENT_MODEL: model,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
    },
    // In its mode `auto` a model call decides about each call in place of the mesh.
    mode: 'default',
  }),
  codex: ({ model, openAiUrl }) => ({
    command: [
      'codex-acp',
      ...Object.entries({
        model,
        model_provider: 'flotilla',
        'model_providers.flotilla.name': 'flotilla',
        'model_providers.flotilla.base_url': openAiUrl,
        'model_providers.flotilla.env_key': 'OPENAI_API_KEY',
        'model_providers.flotilla.wire_api': 'responses',
        // With its own 4 a run failed whose mesh took 41 s to start again on a busy machine.
        'model_providers.flotilla.request_max_retries': 8,
        sandbox_mode: 'danger-full-access',
        approval_policy: 'untrusted',
        web_search: 'disabled',
        check_for_update_on_startup: false,
      }).flatMap(([name, value]) => ['-c', `${name}=${JSON.stringify(value)}`]),
    ],
    environment: {},
  }),
  gemini: ({ model }) => ({
    command: ['gemini', '--acp', '--model', model],
    environment: {
      GEMINI_SANDBOX: 'false',
      // A folder that is not trusted gets no MCP servers.
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      // It starts itself a second time to get more memory than its container has.
      GEMINI_CLI_NO_RELAUNCH: 'true',
    },
    mode: 'default',
    // Its file of a session is named by the minute, and is emptied before it is read if the name is the same.
    continuesInNextMinute: true,
    settings: {
      // It reads settings of the system only from folders of root.
      variable: 'GEMINI_CLI_HOME',
      file: '.gemini/settings.json',
      content: JSON.stringify({
        general: {
          enableAutoUpdate: false,
          enableAutoUpdateNotification: false,
          // Each continuation leaves an empty file beside that of the session, and its cleanup deletes both for that.
          sessionRetention: { enabled: false },
        },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
        // These two run at Google.
        tools: { exclude: ['google_web_search', 'web_fetch'] },
        modelConfigs: {
          // Summaries and checks beside the conversation name models of Google.
          customOverrides: [{ overrideScope: 'core' }, { model: 'base' }, { model: 'chat-base' }].map(
            (match) => ({ match, modelConfig: { model } }),
          ),
        },
      }),
    },
  }),
  opencode: ({ model, openAiUrl }) => ({
    command: ['opencode', 'acp'],
    environment: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: `flotilla/${model}`,
        small_model: `flotilla/${model}`,
        enabled_providers: ['flotilla'],
        provider: {
          flotilla: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: openAiUrl, apiKey: '{env:OPENAI_API_KEY}' },
            models: { [model]: {} },
          },
        },
        permission: { edit: 'ask', bash: 'ask', webfetch: 'ask' },
        autoupdate: false,
        share: 'disabled',
      }),
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    },
  }),
}

/** The program of a harness, by its name or as the owner wrote it. Pure. */
export function harnessProgram(
  harness: HarnessName | HarnessProgram,
  surroundings: Surroundings,
): HarnessProgram {
  return typeof harness === 'string' ? knownHarnesses[harness](surroundings) : harness
}
