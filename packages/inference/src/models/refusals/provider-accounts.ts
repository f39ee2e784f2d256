/** The page where the owner adds credit or raises a limit. */
interface ProviderAccount {
  readonly title: string
  readonly billing: string
}

const accounts: Readonly<Record<string, ProviderAccount>> = {
  'api.openai.com': {
    title: 'OpenAI',
    billing: 'https://platform.openai.com/settings/organization/billing',
  },
  'api.anthropic.com': { title: 'Anthropic', billing: 'https://console.anthropic.com/settings/billing' },
  'googleapis.com': { title: 'Google', billing: 'https://aistudio.google.com/usage' },
  'api.mistral.ai': { title: 'Mistral', billing: 'https://admin.mistral.ai/organization/billing' },
  'api.cohere.com': { title: 'Cohere', billing: 'https://dashboard.cohere.com/billing' },
  'api.groq.com': { title: 'Groq', billing: 'https://console.groq.com/settings/billing' },
  'openrouter.ai': { title: 'OpenRouter', billing: 'https://openrouter.ai/settings/credits' },
  'api.deepseek.com': { title: 'DeepSeek', billing: 'https://platform.deepseek.com/top_up' },
  'api.x.ai': { title: 'xAI', billing: 'https://console.x.ai' },
  'api.together.xyz': { title: 'Together', billing: 'https://api.together.ai/settings/billing' },
  'api.fireworks.ai': { title: 'Fireworks', billing: 'https://fireworks.ai/account/billing' },
  'api.cerebras.ai': { title: 'Cerebras', billing: 'https://cloud.cerebras.ai' },
  'api.perplexity.ai': { title: 'Perplexity', billing: 'https://www.perplexity.ai/settings/api' },
  'api.moonshot.ai': { title: 'Moonshot', billing: 'https://platform.moonshot.ai/console' },
  'api.moonshot.cn': { title: 'Moonshot', billing: 'https://platform.moonshot.cn/console' },
  'api.z.ai': { title: 'Z.ai', billing: 'https://z.ai/manage-apikey/billing' },
  'open.bigmodel.cn': { title: 'Zhipu', billing: 'https://open.bigmodel.cn/finance-center/finance/overview' },
  'aliyuncs.com': { title: 'Alibaba Cloud', billing: 'https://usercenter2.aliyun.com/home' },
  'openai.azure.com': { title: 'Azure', billing: 'https://portal.azure.com' },
  'amazonaws.com': { title: 'Amazon Bedrock', billing: 'https://console.aws.amazon.com/servicequotas' },
}

/** Returns the account page by the host of the provider's address; null for an unknown host. Pure. */
export function accountAt(host: string): ProviderAccount | null {
  const name = host.toLowerCase()
  const known = Object.keys(accounts).find((one) => name === one || name.endsWith(`.${one}`))
  return (known === undefined ? undefined : accounts[known]) ?? null
}
