import { expect, test } from 'vitest'
import { parseSettings } from './settings-file.ts'

test.each([
  ['{"default_model": 5}', 'line 1: default_model: write a text in quotes instead of a number'],
  [
    '{"providers":{"a":{"kind":"openai-compatible"}}}',
    'line 1: providers.a.base_url: is missing; write a text in quotes',
  ],
  ['{\n"modles": {}}', 'line 2: file: "modles" is not a known name here; correct or remove it'],
  ['{"egress":{"allowed_ports":[70000]}}', 'line 1: egress.allowed_ports.0: write a number of at most 65535'],
  ['{"data_limit_mb": 1}', 'line 1: data_limit_mb: write a number of at least 64'],
  ['{"data_limit_mb": 64.5}', 'line 1: data_limit_mb: write a whole number'],
  ['{"default_model": ""}', 'line 1: default_model: write at least 1 characters'],
  ['{"models": []}', 'line 1: models: write an object in { } instead of a list in [ ]'],
  [
    '{"web_search":{"provider":"bing"}}',
    'line 1: web_search.provider: write one of brave, tavily, serper, searxng',
  ],
  ['{"providers":{"A b":{"kind":"cohere"}}}', 'line 1: providers.A b: a provider name is 1 to 64 of'],
])('an error in a settings file names the field and the expected value: %s', (text, words) => {
  expect(() => parseSettings(text)).toThrow(`config/settings.json ${words}`)
})
