/**
 * Counts tokens like OpenAI's current models. Takes 70 MB once loaded, so it is only for agents that need it
 * and have the memory.
 */
export { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
