/** Variables that change how programs run or connect; a credential never replaces one of them. */
export const reservedVariables =
  /^(?:PATH|HOME|USER|SHELL|TMPDIR|LANG|IFS|ENV|BASH_ENV|NETRC|DENO_CERT|PIP_CERT|.*_PROXY|(?:FLOTILLA|LD|NODE|NPM_CONFIG|GIT|SSL|CURL|PYTHON|MALLOC|LC|OPENAI|ANTHROPIC|CARGO_HTTP|AWS_CA|REQUESTS_CA)(?:_.*)?)$/
