/** What a region of a provider costs: the address under which the public list has the models, and the factor. */
export interface RegionalPrice {
  readonly listedUrl: string
  readonly factor: number
}

interface Region {
  readonly host: RegExp
  readonly listedUrl: string
  readonly factor: number
  /** Models whose price is the same in every region. */
  readonly exempt: RegExp | null
}

/** OpenAI's models of before March 5, 2026, and their tuned forms; later ones cost more in a region. */
const olderOpenAi =
  /^(?:ft:)?(?:gpt-[34]|gpt-5(?:\.[0-3])?(?![.\d])|gpt-(?:audio|realtime|image)(?:-mini|-1)?$|o[134](?!\d)|chatgpt-|codex-mini|computer-use|text-|whisper|tts-|dall-e|davinci|babbage|omni-moderation)/i

/**
 * Regions with prices of their own that the public list does not name. Sources: OpenAI, "Data residency": 10 % more for
 * models released on or after March 5, 2026; Together, "Geo-specific inference": 1.25 times the price. Amazon's
 * regions are models of their own in the list.
 */
const regions: readonly Region[] = [
  {
    host: /^[a-z]+\.api\.openai\.com$/,
    listedUrl: 'https://api.openai.com/v1',
    factor: 1.1,
    exempt: olderOpenAi,
  },
  {
    host: /^[a-z]+-api\.together\.ai$/,
    listedUrl: 'https://api.together.xyz/v1',
    factor: 1.25,
    exempt: null,
  },
]

/** Returns the price rule of a regional address; null for any other address. Pure. */
export function regionalPriceOf(baseUrl: string | null, model: string): RegionalPrice | null {
  if (baseUrl === null) return null
  const { hostname } = new URL(baseUrl)
  const region = regions.find(({ host }) => host.test(hostname))
  if (region === undefined) return null
  const { listedUrl, factor, exempt } = region
  return { listedUrl, factor: exempt?.test(model) === true ? 1 : factor }
}
