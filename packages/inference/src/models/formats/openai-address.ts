/**
 * Whether this is the address of OpenAI itself, also of one of its regions such as `eu.api.openai.com`, and not of
 * another server with its API. Pure.
 */
export function isOpenAi(baseUrl: string | null): boolean {
  return baseUrl !== null && /^(?:[a-z]+\.)?api\.openai\.com$/.test(new URL(baseUrl).hostname)
}
