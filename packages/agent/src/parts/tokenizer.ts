/** Counts tokens as OpenAI's current models do. Some 70 MB once loaded, so only for who needs it and has the room. */
export { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
