import { channelNoticeKinds } from '@flotilla/protocol/channels-api'
import { ownImageSchema } from '@flotilla/protocol/agent-image'
import { packageListSchema } from '@flotilla/protocol/agent-packages'
import { agentIdSchema } from '@flotilla/protocol/ids'
import { harnessSchema } from '@flotilla/protocol/harness'
import { isolationModes, isolationRungs } from '@flotilla/protocol/isolation'
import { channelNames } from '@flotilla/protocol/people'
import { spawnLimits, wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { ratePerMinute } from '@flotilla/protocol/rate-buckets'
import type { RateBucket } from '@flotilla/protocol/rate-buckets'
import { webhookLimits } from '@flotilla/protocol/webhook-api'
import * as z from 'zod'
import { answersSchema } from './answer-settings.ts'
import { agentSizeSettings } from './agent-size-settings.ts'
import { readTextFile } from './atomic-file.ts'
import { captchaSettingsSchema } from './captcha-settings.ts'
import { withoutEnvironmentOnly } from './environment-only.ts'
import { hostPattern, inspectedHost } from './host-pattern.ts'
import { readJsonDocument } from './json-document.ts'
import { local, modelName, modelsSchema } from './model-settings.ts'
import { journalRetentionSchema, traceRetentionSchema } from './retention-settings.ts'
import { walletSettingsSchema } from './wallet-settings.ts'

const providerName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a provider name is 1 to 64 of a-z 0-9 _ -')
const openAiCompatibleSchema = z.strictObject({
  kind: z.literal('openai-compatible'),
  base_url: z.url({ protocol: /^https?$/ }),
  /** Name of a system credential, without its prefix: `groq_api_key`. */
  api_key: z.string().optional(),
  local,
})

const scriptedSchema = z.strictObject({ kind: z.literal('scripted'), cassette: z.string().min(1).max(200) })

const sdkCommon = {
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Name of a system credential, without its prefix; without one, `PROVIDER_api_key`. */
  api_key: z.string().optional(),
  local,
}
const plainSdkSchema = z.strictObject({
  kind: z.enum(['anthropic', 'google', 'mistral', 'cohere']),
  ...sdkCommon,
})
const bedrockSchema = z.strictObject({
  kind: z.literal('bedrock'),
  ...sdkCommon,
  region: z.string().max(50).optional(),
})
const azureSchema = z.strictObject({
  kind: z.literal('azure'),
  ...sdkCommon,
  resource_name: z
    .string()
    .regex(/^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/, 'one label of a host name')
    .optional(),
  api_version: z.string().max(50).optional(),
  /** True uses the older form of addresses, which have the deployment in the path. */
  by_deployment: z.boolean().default(false),
})

const hostAndPort = z
  .string()
  .max(270)
  .regex(
    /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d{1,5}$/,
    'write an exact host and port, such as 192.168.1.20:8080, [fd12::1]:443 or wiki.internal:443',
  )
const allowedHosts = z.array(hostPattern).max(1000)

/** Egress of agents' containers; see SECURITY.md before opening anything. */
const egressSchema = z.strictObject({
  /** Ports that agents may reach outside. */
  allowed_ports: z.array(z.number().int().min(1).max(65_535)).max(100).default([80, 443]),
  /** Addresses on private networks that agents may reach nevertheless. Listeners of the mesh stay unreachable. */
  allowed_private: z.array(hostAndPort).max(100).default([]),
  /** The hosts that a listed agent may reach; an agent that is not listed may reach every public host. */
  allowed_hosts: z.record(agentIdSchema, allowedHosts).default({}),
  /**
   * The hosts whose TLS the egress proxy ends for programs of agents, so that it can decide each request. All other
   * hosts stay tunnels.
   */
  inspected_hosts: z.array(inspectedHost).max(200).default([]),
  /**
   * Hosts that stay tunnels although `inspected_hosts` contains them, because programs accept only their own
   * certificate. Of the entries of both lists that contain a host, the most specific decides.
   */
  tunnel_hosts: z.array(inspectedHost).max(200).default([]),
  /**
   * How long a program's request to an inspected host is held open while a person is asked about it, in seconds. With
   * 0 the program gets an error at once. The request is kept for the person in both cases.
   */
  hold_asked_seconds: z.number().int().min(0).max(600).default(0),
  /** Requests of agents use the proxy of HTTP_PROXY and HTTPS_PROXY, like the mesh's own calls. */
  use_proxy: z.boolean().default(false),
  /**
   * The proxy gets names instead of checked addresses, also names that the mesh cannot resolve: only for a proxy that
   * itself refuses private addresses.
   */
  proxy_resolves_names: z.boolean().default(false),
  /** Used instead of the system's name servers; `address` or `address:port`. */
  dns_servers: z
    .array(z.string().regex(/^[0-9a-fA-F:.[\]]+$/, 'write an address that begins with http:// or https://'))
    .max(4)
    .default([]),
})

/** The provider of web searches for agents with the permission; its key stays in the mesh. */
const webSearchSchema = z
  .strictObject({
    provider: z.enum(['brave', 'tavily', 'serper', 'searxng']),
    /** Name of a system credential, without its prefix; `PROVIDER_api_key` if omitted. SearXNG needs none. */
    credential: z.string().min(1).max(128).optional(),
    /**
     * The provider's address; its public address if omitted. An address on a private network must also be in
     * `egress.allowed_private`.
     */
    url: z.url({ protocol: /^https?$/ }).optional(),
  })
  .refine((search) => search.provider !== 'searxng' || search.url !== undefined, {
    path: ['url'],
    message: 'write the address of your SearXNG, such as http://192.168.1.20:8888',
  })

const timeOfDay = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'a time of day is expected, such as 22:00')

const rate = (bucket: RateBucket) => z.number().int().min(1).max(1_000_000).default(ratePerMinute[bucket])
/** An agent's own state needs at least 64 MB; no machine for which this is made has more than 1 TB. */
const dataLimitMb = z.number().int().min(64).max(1_048_576)
const countWithin = (range: { readonly min: number; readonly max: number; readonly default: number }) =>
  z.number().int().min(range.min).max(range.max).default(range.default)

/** An agent that was restarted this often and is lost again is quarantined. */
const restartsPerHour = { default: 3, min: 0, max: 1000 }
/**
 * After how many minutes an idle worker hibernates until its next work; the setting exists for the fleet and for one
 * agent.
 */
const hibernateAfterMinutes = { default: 30, min: 1, max: 525_600 }
/** Null turns hibernation off. */
const hibernateAfter = z.number().min(hibernateAfterMinutes.min).max(hibernateAfterMinutes.max).nullable()

/** The isolation level of agents, and whether they may run at a lower level if it is not available. */
const isolation = z.enum(isolationRungs)
const isolationMode = z.enum(isolationModes)

/** Schemas of the settings that one agent can have. */
export const ofOneAgent = {
  isolation,
  isolationMode,
  models: z.array(modelName).max(100),
  dataLimitMb,
  hibernateAfter,
  allowedHosts,
  answers: answersSchema,
  packages: packageListSchema,
  image: ownImageSchema,
  size: agentSizeSettings,
  harness: harnessSchema,
}

export const settingsSchema = z.strictObject({
  default_model: modelName.optional(),
  /** Computes the vectors of agents’ memories; without it, only words are searched. Read when the mesh starts. */
  embedding_model: modelName.optional(),
  providers: z
    .record(
      providerName,
      z.discriminatedUnion('kind', [
        openAiCompatibleSchema,
        scriptedSchema,
        plainSdkSchema,
        bedrockSchema,
        azureSchema,
      ]),
    )
    .default({}),
  /** Settings of models by `provider/model`, and the models that the owner chose for heartbeats and for summaries. */
  models: modelsSchema.default({}),
  /** How models answer in each kind of run. */
  answers: answersSchema.prefault({}),
  agents: z
    .record(
      agentIdSchema,
      z.strictObject({
        models: ofOneAgent.models.default([]),
        /** Overrides the fleet's limit. */
        data_limit_mb: dataLimitMb.optional(),
        hibernate_after_minutes: hibernateAfter.optional(),
        isolation: isolation.optional(),
        isolation_mode: isolationMode.optional(),
        /** Memory, processors, processes and /tmp. A change takes effect at the agent's next run. */
        size: agentSizeSettings.optional(),
        /** Packages of apt, npm and pip in the agent's image. A change takes effect at the agent's next run. */
        packages: z.optional(packageListSchema),
        /** An image of the owner by name and digest, in place of the agent image. A change takes effect at the agent's next run. */
        image: z.optional(ownImageSchema),
        /** Overrides the fleet's settings, one by one. */
        answers: answersSchema.optional(),
        /** The program that drives the agent's runs in place of the agent's own loop. */
        harness: z.optional(harnessSchema),
      }),
    )
    .default({}),
  /** Ids of local users who may act as the owner, besides root and the user that runs the mesh. */
  local_users: z.array(z.number().int().min(1).max(4_294_967_294)).max(1000).default([]),
  /** Silence after which an open stream gets a comment; read when the mesh starts. */
  keep_alive_seconds: z
    .number()
    .min(0.1)
    .max(wireLimits.keepAliveMs / 1000)
    .default(wireLimits.keepAliveMs / 1000),
  egress: egressSchema.prefault({}),
  web_search: webSearchSchema.optional(),
  /** Recorded model requests and answers of runs, without secrets, for inspection and replay. */
  run_records: z
    .strictObject({
      /** 0 days keep nothing. */
      days: z.number().int().min(0).max(365).default(7),
      /** Limit for all records together; the oldest are deleted first. */
      max_mb: z.number().int().min(1).max(1_048_576).default(512),
    })
    .prefault({}),
  /**
   * The limit of an agent's data below /data, in MB of 1024 × 1024 bytes. A change takes effect at the agent's next
   * start.
   */
  data_limit_mb: dataLimitMb.default(5120),
  /** A worker without work for this time hibernates until its next work. The operator never does. */
  hibernate_after_minutes: hibernateAfter.default(hibernateAfterMinutes.default),
  /** A change takes effect at each agent's next run. */
  isolation: isolation.default('container'),
  isolation_mode: isolationMode.default('preferred'),
  /** An agent that was restarted this often within an hour, and is lost once more, is quarantined. */
  restarts_per_hour: countWithin(restartsPerHour),
  /** Calls per minute and agent. */
  rate_limits: z
    .strictObject({
      llm: rate('llm'),
      http: rate('http'),
      web_search: rate('web_search'),
      credentials: rate('credentials'),
      blackboard_read: rate('blackboard_read'),
      blackboard_write: rate('blackboard_write'),
      notify: rate('notify'),
      tasks: rate('tasks'),
      messages: rate('messages'),
      artifacts: rate('artifacts'),
      skills: rate('skills'),
      publish: rate('publish'),
      cron: rate('cron'),
      spawn: rate('spawn'),
      wallet: rate('wallet'),
      browser: rate('browser'),
      other: rate('other'),
    } satisfies Record<RateBucket, z.ZodType>)
    .prefault({}),
  /** Browsers of agents, each in a container of its own. */
  browser: z
    .strictObject({
      /** The maximum number of open browsers; a further one is refused, and none is closed for it. */
      max_live: countWithin({ default: 2, min: 1, max: 20 }),
      /** A browser that is idle for this time and is not watched closes; its tabs are restored later. */
      idle_minutes: z.number().min(0.1).max(1440).default(5),
      /** The limit of a browser profile, in MB of 1024 × 1024 bytes. */
      profile_limit_mb: countWithin({ default: 512, min: 64, max: 65_536 }),
      captcha: captchaSettingsSchema,
    })
    .prefault({}),
  /** The maximum number of agents at the same time that agents created for a task. */
  spawning: z
    .strictObject({
      per_parent: countWithin(spawnLimits.perParentMax),
      fleet: countWithin(spawnLimits.fleetMax),
    })
    .prefault({}),
  wallet: walletSettingsSchema,
  webhooks: z
    .strictObject({
      /** Deliveries that each webhook accepts in a minute, unless the hook has its own limit. */
      per_minute: z.number().int().min(1).max(webhookLimits.perMinuteMax).default(60),
    })
    .prefault({}),
  /** People on chat platforms; a channel is enabled by its token, a credential of the mesh. */
  channels: z
    .strictObject({
      /** Messages that one person may send in a minute. */
      per_minute: z.number().int().min(1).max(600).default(20),
      /** A self-hosted Bot API server. This setting and the next three are read when the channel is enabled. */
      telegram: z.strictObject({ api_url: z.url({ protocol: /^https?$/ }) }).optional(),
      /** A proxy in front of Discord, instead of https://discord.com/api. */
      discord: z.strictObject({ api_url: z.url({ protocol: /^https?$/ }) }).optional(),
      /** Overrides https://slack.com/api. */
      slack: z.strictObject({ api_url: z.url({ protocol: /^https?$/ }) }).optional(),
      /** Overrides https://graph.facebook.com/v23.0, including the version. */
      whatsapp: z.strictObject({ api_url: z.url({ protocol: /^https?$/ }) }).optional(),
      /** The URL to which the webhook channel posts messages to people. */
      webhook: z.strictObject({ url: z.url({ protocol: /^https?$/ }) }).optional(),
      /**
       * Transcribes voice notes with a provider that has OpenAI's API; without it, voice notes are rejected with an
       * explanation.
       */
      voice: z
        .strictObject({
          model: modelName,
          /** The price of a minute of audio, in US dollars; may be omitted only if the model costs nothing. */
          usd_per_minute: z.number().min(0).max(1000).optional(),
        })
        .optional(),
      /**
       * The address by which owners open the dashboard, for links in notifications; that of the mesh's machine if
       * omitted. A page behind a link decides nothing before a person does.
       */
      dashboard_url: z.url({ protocol: /^https?$/ }).optional(),
      /** Unsolicited notifications to owners, only in private conversations in which they wrote before. */
      notices: z
        .strictObject({
          /** The channels that deliver notices; none by default. */
          to: z.array(z.enum(channelNames)).max(channelNames.length).default([]),
          about: z
            .array(z.enum(channelNoticeKinds))
            .max(channelNoticeKinds.length)
            .default([...channelNoticeKinds]),
          /**
           * The hours, in the time zone of the mesh's machine, in which notifications wait, such as 22:00 to 07:00;
           * null for none.
           */
          quiet_hours: z.strictObject({ from: timeOfDay, to: timeOfDay }).nullable().default(null),
        })
        .prefault({}),
    })
    .prefault({}),
  /** Caps of every handed-off task, over all runs that work on it; a task at its cap becomes blocked. */
  tasks: z
    .strictObject({
      /** US dollars; null means that only the budgets limit the cost. */
      max_usd: z.number().positive().nullable().default(5),
      /** The maximum number of model calls. */
      max_calls: z.number().int().min(1).max(1_000_000).default(200),
    })
    .prefault({}),
  /** Retention of the audit log. */
  journal: journalRetentionSchema,
  /** Retention of traces. */
  traces: traceRetentionSchema,
})
export type Settings = z.infer<typeof settingsSchema>
export type ProviderSettings = Settings['providers'][string]

export const defaultSettings: Settings = settingsSchema.parse({})

/** Returns the limit of the agent's data, in bytes. Pure. */
export function dataLimitBytes(settings: Settings, agentId: string): number {
  return (settings.agents[agentId]?.data_limit_mb ?? settings.data_limit_mb) * 1024 * 1024
}

/** Returns the idle milliseconds after which the agent hibernates, or null if it never hibernates. Pure. */
export function hibernateAfterMs(settings: Settings, agentId: string): number | null {
  const own = settings.agents[agentId]?.hibernate_after_minutes
  const minutes = own === undefined ? settings.hibernate_after_minutes : own
  return minutes === null ? null : minutes * 60_000
}

/**
 * Reads `config/settings.json`; a missing file gives the defaults. Throws the problem `unprocessable` with file, line
 * and reason if the file is invalid.
 */
export async function readSettingsFile(path: string): Promise<Settings> {
  const text = await readTextFile(path)
  return text === null ? defaultSettings : parseSettings(text)
}

/** Parses the file's text. Throws the same problem as `readSettingsFile`. Pure. */
export function parseSettings(text: string): Settings {
  // Readers ignore these names even if the file could not be rewritten.
  const reading = readJsonDocument(withoutEnvironmentOnly(text).text, settingsSchema)
  if (reading.ok) return reading.document.value
  throw new Problem('unprocessable', {
    detail: `config/settings.json line ${reading.line}: ${reading.reason}`,
    extra: { file: 'config/settings.json', line: reading.line },
  })
}
