import { describe, expect, test } from 'vitest'
import { judgeRefusal } from './judge-refusal.ts'
import { isEchoed } from './echoed-text.ts'
import { readRefusal } from './read-refusal.ts'

/**
 * Error bodies as providers send them: `provider @host !error-type | status | meaning/part | body`. `null` means
 * that the body does not tell the meaning.
 */
const samples = String.raw`
openai | 429 | credit | {"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","type":"insufficient_quota","code":"insufficient_quota"}}
openai | 429 | credit | {"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","type":"insufficient_quota","code":null}}
openai | 429 | credit | {"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","type":"insufficient_quota","code":"project_spend_limit_exceeded"}}
openai | 429 | credit | {"error":{"message":"Your account is not active, please check your billing details on our website.","type":"billing_not_active","code":"billing_not_active"}}
openai | 429 | credit | {"error":{"message":"You’ve reached your usage limit.","code":"billing_hard_limit_reached"}}
openai | 403 | key | {"error":{"message":"The account was closed.","code":"account_deactivated"}}
openai | 401 | key | {"error":{"message":"Incorrect API key provided: sk-...","code":"invalid_api_key"}}
openai | 404 | model | {"error":{"message":"The model ´gpt-9´ does not exist or you do not have access to it.","code":"model_not_found"}}
openai | 429 | too-large | {"error":{"message":"Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}
openai | 429 | rate | {"error":{"message":"Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.","type":"tokens","code":"rate_limit_exceeded"}}
openai | 429 | rate | {"error":{"message":"Too many requests, slow down.","code":"slow_down"}}
openai | 400 | too-long | {"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}
openai | 403 | access | {"error":{"message":"Country, region, or territory not supported","code":"unsupported_country_region_territory"}}
groq @api.groq.com | 400 | output | {"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=look>"}}
groq @api.groq.com | 400 | output | {"error":{"message":"Failed to generate JSON. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"json_validate_failed","failed_generation":"x"}}
anthropic | 400 | credit | {"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}
anthropic | 402 | credit | {"type":"error","error":{"type":"billing_error","message":"There is an issue with your billing."}}
anthropic | 400 | quota | {"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."}}
anthropic | 400 | key | {"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}
anthropic | 401 | key | {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}
anthropic | 403 | access | {"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}
anthropic | 529 | overloaded | {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
anthropic | 429 | rate | {"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your account's rate limit. Please try again later."}}
anthropic | 413 | history/images | {"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes."}}
anthropic | 400 | too-long | {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}
google | 429 | quota | {"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs. Please retry in 36.42s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generate_content_free_tier_requests","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"20"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}
google | 429 | rate | {"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generate_content_free_tier_requests","quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"20"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"36s"}]}}
google | 429 | rate | {"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED","details":[]}}
google | 429 | quota | {"error":{"code":429,"message":"Quota exceeded for metric: free_tier_requests, limit: 0, model: gemini-pro","status":"RESOURCE_EXHAUSTED","details":[]}}
google | 429 | credit | {"error":{"code":429,"message":"Your prepayment credits are depleted.","status":"RESOURCE_EXHAUSTED","details":[]}}
google | 400 | credit | {"error":{"code":429,"message":"Gemini API free tier is not available in your country. Please enable billing on your project in Google AI Studio.","status":"FAILED_PRECONDITION","details":[]}}
google | 400 | access | {"error":{"code":429,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION","details":[]}}
google | 400 | key | {"error":{"code":429,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}
google | 404 | model | {"error":{"code":429,"message":"models/gemini-0 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND","details":[]}}
google | 503 | overloaded | {"error":{"code":429,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE","details":[]}}
mine | 403 | credit | {"error":{"message":"user quota is not enough, user quota: $0.10, need quota: $0.20","type":"one_api_error","code":"insufficient_user_quota"}}
mine | 403 | credit | {"error":{"message":"pre-consume token quota failed","type":"new_api_error","code":"pre_consume_token_quota_failed"}}
mine | 429 | credit | {"error":{"message":"Limit of the team","code":"spend_limit_exceeded"}}
mine | 429 | credit | {"error":{"message":"You have reached your monthly spend limit.","code":"limit"}}
deepseek | 402 | credit | {"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}
openrouter | 402 | credit | {"error":{"message":"Insufficient credits. This account never purchased credits.","code":402}}
openrouter | 403 | history/content | {"error":{"message":"openai/gpt-5 requires moderation on OpenAI. Your input was flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"...","provider_name":"OpenAI"}}}
openrouter | 200 | credit | {"error":{"message":"Provider returned error","code":402,"metadata":{}}}
openrouter | 429 | quota | {"error":{"message":"Rate limit exceeded: free-models-per-day","code":429}}
openrouter | 400 | history/images | {"error":{"message":"Provider returned error","code":400,"metadata":{"provider_name":"Crucible","raw":"{\"error\":{\"message\":\"Model 'k2' supports at most 1 image per prompt.\",\"type\":\"invalid_request_error\"}}"}}}
openrouter | 429 | rate | {"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"qwen is temporarily rate-limited upstream."}}}
openrouter | 404 | model | {"error":{"message":"No endpoints found for foo/bar.","code":404}}
mistral | 401 | key | {"detail":"Unauthorized"}
mistral | 429 | overloaded | {"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":null}
mistral | 429 | rate | {"object":"error","message":"Rate limit exceeded","type":"rate_limited","code":"1300"}
mistral | 400 | model | {"object":"error","message":"Invalid model: mistral-none","type":"invalid_model","code":"1500"}
groq | 413 | too-large | {"error":{"message":"Request too large for model ´llama-3.3-70b-versatile´ in organization ´org´ service tier ´on_demand´ on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}
groq | 429 | rate | {"error":{"message":"Rate limit reached for model ´llama´ on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s.","type":"tokens","code":"rate_limit_exceeded"}}
groq | 429 | quota | {"error":{"message":"Rate limit reached for model ´llama´ on tokens per day (TPD): Limit 100000, Used 99900, Requested 1443. Please try again in 19m20.352s.","type":"tokens","code":"rate_limit_exceeded"}}
groq | 400 | model | {"error":{"message":"The model ´mixtral-8x7b´ has been decommissioned and is no longer supported.","code":"model_decommissioned"}}
azure | 404 | model | {"error":{"message":"The API deployment for this resource does not exist.","code":"DeploymentNotFound"}}
azure | 401 | key | {"error":{"message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to use a correct regional API endpoint for your resource.","code":"401"}}
azure | 400 | history/content | {"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}
bedrock !ThrottlingException:http://internal.amazon.com/coral/ | 429 | rate | {"message":"Too many tokens, please wait before trying again."}
bedrock !ThrottlingException | 429 | quota | {"message":"Too many tokens per day, please wait before trying again."}
bedrock !ServiceQuotaExceededException | 400 | quota | {"message":"Your request exceeds the service quota."}
bedrock !AccessDeniedException | 403 | access | {"message":"You don't have access to the model with the specified model ID."}
bedrock !UnrecognizedClientException | 403 | key | {"message":"The security token included in the request is invalid."}
bedrock !ValidationException | 400 | model | {"message":"Invocation of model ID x with on-demand throughput isn’t supported."}
bedrock !ModelNotReadyException | 429 | overloaded | {"message":"The model is not ready."}
kimi | 429 | quota | {"error":{"message":"You've reached kimi monthly usage limit for this billing cycle. Your quota will be refreshed in the next cycle.","type":"rate_limit_error"}}
copilot | 429 | quota | {"error":{"message":"Sorry, you have exceeded your premium request allowance","code":"quota_exceeded"}}
codex | 429 | quota | {"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus","resets_in_seconds":3600}}
claude | 429 | quota | {"type":"error","error":{"type":"rate_limit_error","message":"You have reached your 5-hour usage limit. Resets at 3pm (UTC)."}}
claude | 400 | quota | {"type":"error","error":{"type":"invalid_request_error","message":"Third-party apps now draw from your extra usage, not your plan limits. Add more at claude.ai/settings/usage and keep going."}}
openrouter | 403 | quota | {"error":{"message":"Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/settings/keys","code":403}}
litellm | 400 | quota | {"error":{"message":"Budget has been exceeded! Current cost: 1.0, Max budget: 1.0","type":"budget_exceeded","param":null,"code":"400"}}
cloudcode | 429 | quota | {"error":{"code":429,"message":"You have exhausted your capacity on this model. Your quota will reset after 27h41m36s.","status":"RESOURCE_EXHAUSTED"}}
bedrock | 400 | null | {"message":"Too many tokens, please wait before trying again."}
together | 402 | credit | {"error":{"message":"Credit limit exceeded, please navigate to billing.","type":"credit_limit","code":null}}
together | 404 | model | {"error":{"message":"Unable to access model foo. Please visit the list of models.","code":"model_not_available"}}
fireworks | 412 | credit | {"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.","code":"PRECONDITION_FAILED"}}
fireworks | 404 | model | {"error":{"message":"Model not found, inaccessible, and/or not deployed","code":"NOT_FOUND"}}
moonshot | 429 | credit | {"error":{"message":"Your account is suspended due to insufficient balance, please recharge your account","type":"exceeded_current_quota_error"}}
moonshot | 429 | rate | {"error":{"message":"Your account request reached max request: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}
moonshot | 429 | overloaded | {"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}
moonshot | 401 | key | {"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}
zhipu | 429 | credit | {"error":{"message":"您的账户已欠费，请充值后重试。","code":"1113"}}
zai | 429 | credit | {"error":{"message":"Insufficient balance or no resource package. Please recharge.","code":"1113"}}
zhipu | 429 | rate | {"error":{"message":"您当前使用该API的并发数过高，请降低并发。","code":"1302"}}
zhipu | 429 | quota | {"error":{"message":"已达到 5 小时的使用上限。","code":"1308"}}
dashscope | 400 | credit | {"error":{"message":"Access denied, please make sure your account is in good standing.","code":"Arrearage","type":"Arrearage"}}
mine @dashscope-intl.aliyuncs.com | 429 | rate | {"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs.","type":"insufficient_quota","code":"insufficient_quota"}}
dashscope | 403 | quota | {"error":{"message":"The free tier of the model has been exhausted.","code":"AllocationQuota.FreeTierOnly"}}
dashscope | 429 | rate | {"code":"Throttling.RateQuota","message":"Requests rate limit exceeded, please try again later."}
xai | 429 | credit | {"code":"Some resource has been exhausted","error":"Your team 1 has either used all available credits or reached its monthly spending limit."}
xai | 403 | credit | {"code":"permission-denied","error":"Your newly created team doesn't have any credits or licenses yet."}
xai | 400 | key | {"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***."}
cohere | 429 | quota | {"message":"You are using a Trial key, which is limited to 1000 API calls / month."}
cohere | 429 | rate | {"message":"Please wait and try again later"}
cohere | 401 | key | {"message":"invalid api token"}
ollama | 404 | model | {"error":{"message":"model \"llama3\" not found, try pulling it first","type":"api_error"}}
perplexity | 401 | credit | {"error":{"message":"You exceeded your current quota, please check your plan and billing details: insufficient_quota","type":"insufficient_quota","code":401}}
perplexity | 429 | rate | {"error":{"message":"Request rate limit exceeded. Please try again later.","type":"request_rate_limit_exceeded","code":429}}
mine | 429 | credit | {"error":"insufficient_quota"}
mine | 400 | credit | {"detail":{"code":"insufficient_quota"}}
mine | 400 | credit | {"detail":{"code":"insufficient_quota","message":"no more"}}
mine | 400 | credit | {"error":{"error":{"code":"insufficient_quota","message":"no more"}}}
mine | 400 | credit | {"error":{"error":{"error":{"type":"insufficient_quota"}}}}
mine | 400 | credit | {"error":{"message":{"code":"insufficient_quota"}}}
mine | 400 | credit | {"error":"{\"error\":{\"code\":\"insufficient_quota\"}}"}
mine | 400 | credit | {"error":{"message":"{\"error\":{\"code\":\"insufficient_quota\"}}"}}
mine | 400 | credit | {"detail":{"error":{"code":"insufficient_quota"}}}
mine | 400 | credit | {"data":{"error":{"code":"insufficient_quota"}}}
mine | 401 | key | {"error":"invalid_api_key","error_description":"the key is wrong"}
mine | 400 | credit | {"errors":[{"code":"insufficient_quota"}]}
mine | 200 | credit | {"error":"insufficient_quota"}
mine | 429 | rate | {"error":"rate_limit_exceeded"}
cerebras | 402 | credit | {"message":"Payment required to access this resource.","type":"payment_required_error","param":"quota","code":"wrong_api_tier"}
cerebras | 429 | rate | {"message":"We're experiencing high traffic right now! Please try again soon.","type":"too_many_requests_error","param":"queue","code":"queue_exceeded"}
cerebras | 429 | quota | {"message":"Tokens per day limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}
cerebras | 429 | rate | {"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}
cerebras | 404 | model | {"message":"Model qwen-9 does not exist or you do not have access to it.","type":"not_found_error","param":"model","code":"model_not_found"}
cerebras | 400 | too-long | {"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}
sambanova | 402 | credit | {"error":{"code":null,"message":"A payment method is required. Please add a payment method to continue.","param":null,"type":"payment_required"}}
sambanova | 429 | rate | {"error":{"code":null,"message":"Rate limit exceeded","param":null,"type":"rate_limit_exceeded"}}
huggingface | 402 | credit | {"error":"You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits."}
huggingface | 401 | key | {"error":"Invalid credentials in Authorization header"}
huggingface | 400 | model | {"error":{"message":"The requested model 'foo/bar' is not supported by any provider you have enabled.","type":"invalid_request_error","param":"model","code":"model_not_supported"}}
huggingface | 503 | overloaded | {"error":"Model mistralai/Mistral-7B is currently loading","estimated_time":20.0}
cloudflare | 429 | quota | {"errors":[{"message":"AiError: you have used up your daily free allocation of 10,000 neurons, please upgrade to Cloudflare's Workers Paid plan","code":4006}],"success":false,"result":{},"messages":[]}
cloudflare | 401 | key | {"result":null,"success":false,"errors":[{"code":10000,"message":"Authentication error"}],"messages":[]}
cloudflare | 400 | model | {"errors":[{"message":"AiError: No such model: @cf/foo or task","code":5007}],"success":false,"result":{},"messages":[]}
cloudflare | 429 | overloaded | {"errors":[{"message":"AiError: Capacity temporarily exceeded, please try again.","code":3040}],"success":false,"result":{},"messages":[]}
minimax | 200 | credit | {"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}
minimax | 200 | rate | {"base_resp":{"status_code":1002,"status_msg":"rate limit exceeded(RPM)"}}
minimax | 200 | key | {"base_resp":{"status_code":2049,"status_msg":"invalid api key"}}
minimax | 200 | key | {"base_resp":{"status_code":1004,"status_msg":"login fail: Please carry the API secret key in the 'Authorization' field of the request header"}}
minimax | 200 | history/content | {"base_resp":{"status_code":1026,"status_msg":"input new_sensitive"}}
minimax | 429 | quota | {"type":"error","error":{"type":"rate_limit_error","message":"usage limit exceeded, 5-hour usage limit reached for Token Plan (4500/4500 used), resets at 2026-03-20T15:00:00Z (2056)","http_code":"429"}}
minimax | 400 | history/tools | {"type":"error","error":{"type":"bad_request_error","message":"invalid params, tool call result does not follow tool call (2013)","http_code":"400"}}
vertex | 429 | rate | [{"error":{"code":429,"message":"Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.","status":"RESOURCE_EXHAUSTED"}}]
vertex | 403 | credit | {"error":{"code":403,"message":"This API method requires billing to be enabled. Please enable billing on project #1 by visiting the console.","status":"PERMISSION_DENIED","details":[{"reason":"BILLING_DISABLED"}]}}
vertex | 404 | model | {"error":{"code":404,"message":"Publisher Model projects/p/locations/us/publishers/google/models/gemini-0 was not found or your project does not have access to it.","status":"NOT_FOUND"}}
azure | 429 | rate | {"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-02-01 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 20 seconds."}}
azure | 429 | overloaded | {"error":{"code":"NoCapacity","message":"The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load."}}
azure | 400 | model | {"error":{"code":"OperationNotSupported","message":"The chatCompletion operation does not work with the specified model, text-embedding-3. Please choose different model and try again."}}
bedrock !ValidationException | 400 | history/tools | {"message":"Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1"}
bedrock !ValidationException | 400 | too-long | {"message":"Input is too long for requested model."}
bedrock !AccessDeniedException | 403 | credit | {"message":"Your AWS account has an INVALID_PAYMENT_INSTRUMENT. A valid payment instrument must be provided."}
bedrock !ServiceUnavailableException | 503 | overloaded | {"message":"Too many connections, please wait before trying again. Bedrock is unable to process your request."}
together | 429 | rate | {"error":{"message":"You have reached the rate limit specific to this model. The maximum rate limit for this model is 0.6 queries per minute.","type":"model_rate_limit","code":null}}
together | 503 | overloaded | {"error":{"message":"The server is overloaded or not ready yet.","type":"service_unavailable","code":null}}
together | 422 | too-long | {"error":{"message":"Input validation error: ´inputs´ tokens + ´max_new_tokens´ must be <= 8193. Given: 9000 ´inputs´ tokens and 500 ´max_new_tokens´","type":"invalid_request_error","code":null}}
fireworks | 429 | credit | {"error":{"object":"error","type":"billing_error","message":"Account x has exceeded its spending limit. Increase your spending limit to continue."}}
fireworks | 400 | too-long | {"error":{"object":"error","type":"invalid_request_error","message":"The prompt is too long: 140000, model maximum context length: 131071"}}
moonshot | 400 | too-long | {"error":{"message":"Invalid request: Your request exceeded model token limit: 131072 (requested: 140000)","type":"invalid_request_error"}}
moonshot | 400 | history/content | {"error":{"message":"The request was rejected because it was considered high risk","type":"content_filter"}}
moonshot | 400 | history/empty | {"error":{"message":"Invalid request: the message at position 3 with role 'assistant' must not be empty","type":"invalid_request_error"}}
moonshot | 429 | quota | {"error":{"message":"Your account org-1 request reached organization TPD rate limit, current: 1500000, limit: 1500000","type":"rate_limit_reached_error"}}
dashscope | 400 | too-long | {"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error","code":"invalid_parameter_error"}}
dashscope | 403 | access | {"error":{"message":"Model access denied.","type":"Model.AccessDenied","code":"Model.AccessDenied"}}
zhipu | 429 | overloaded | {"error":{"code":"1305","message":"当前API请求过多，请稍后重试。"}}
zhipu | 400 | history/content | {"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语。"}}
zhipu | 400 | model | {"error":{"code":"1211","message":"模型不存在，请检查模型代码。"}}
zhipu | 400 | too-long | {"error":{"code":"1261","message":"Prompt 超长"}}
zhipu | 401 | key | {"error":{"code":"1000","message":"身份验证失败"}}
xai | 429 | rate | {"code":"Some resource has been exhausted","error":"Too many requests for team 1 and model grok-4. Your team's rate limit is: Requests per Second (actual/limit): 2/1"}
xai | 400 | too-long | {"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 140000 tokens."}
xai | 404 | model | {"code":"Some requested entity was not found","error":"The model grok-0 does not exist or your team 1 does not have access to it."}
mistral | 400 | too-long | {"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":"3051"}
mistral | 402 | credit | {"detail":"Check your payment details"}
mistral | 400 | history/order | {"object":"error","message":"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant","type":"invalid_request_message_order","code":"3230"}
mistral | 400 | history/tools | {"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_function_call","code":"3280"}
deepseek | 401 | key | {"error":{"message":"Authentication Fails, Your api key: ****x is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}
deepseek | 503 | overloaded | {"error":{"message":"Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.","type":"service_unavailable_error"}}
openrouter | 402 | credit | {"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 1200.","code":402}}
openrouter | 404 | model | {"error":{"message":"No allowed providers are available for the selected model.","code":404}}
openrouter | 502 | overloaded | {"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":{\"message\":\"The engine is currently overloaded\"}}"}}}
groq | 498 | overloaded | {"error":{"message":"Flex tier capacity exceeded.","type":"capacity_exceeded","code":"capacity_exceeded"}}
groq | 400 | credit | {"error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.: spend limit reached, set up billing","type":"invalid_request_error","code":"organization_restricted"}}
bedrock | 403 | access | {"Message":"User: arn:aws:iam::1:user/x is not authorized to perform: bedrock:InvokeModel on resource: arn:aws:bedrock"}
qianfan | 401 | key | {"error_code":110,"error_msg":"Access token invalid or no longer valid"}
tencent | 429 | rate | {"Response":{"Error":{"Code":"RequestLimitExceeded","Message":"Your current request times exceed the limit."},"RequestId":"r"}}
nobody | 500 | null | <html><h1>Internal error</h1></html>
nobody | 400 | null | {"error":{"message":"max_tokens must be at least 1"}}
openai | 400 | history/thinking | {"error":{"message":"The encrypted content gAAA...DQ== could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}
openai | 400 | history/thinking | {"error":{"message":"The encrypted content for item rs_0f26baa4a8bfec6b0169326d7c20a8819499e6d836076cc00b could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error"}}
openai | 400 | history/thinking | {"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input"}}
openai | 400 | history/message | {"error":{"message":"Invalid value at messages[3].weird: something is wrong"}}
nobody | 404 | null | {"error":{"message":"no"}}
anthropic | 400 | history/tools | {"type":"error","error":{"type":"invalid_request_error","message":"messages.8: ´tool_use´ ids were found without ´tool_result´ blocks immediately after: toolu_01. Each ´tool_use´ block must have a corresponding ´tool_result´ block in the next message."}}
anthropic | 400 | history/tools | {"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0: unexpected ´tool_use_id´ found in ´tool_result´ blocks: toolu_1."}}
anthropic | 400 | history/tools | {"type":"error","error":{"type":"invalid_request_error","message":"messages.5.content.1.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"}}
openai | 400 | history/tools | {"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."}}
openai | 400 | history/tools | {"error":{"message":"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."}}
openai | 400 | history/tools | {"error":{"message":"Invalid 'messages[3].tool_calls[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."}}
openai | 400 | null | {"error":{"message":"Invalid 'tools[0].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."}}
google | 400 | history/tools | {"error":{"code":429,"message":"Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.","status":"INVALID_ARGUMENT","details":[]}}
deepseek | 400 | history/thinking | {"error":{"message":"Missing ´reasoning_content´ field in the assistant message at message index 2."}}
openai | 400 | history/empty | {"error":{"message":"Invalid value for 'content': expected a string, got null."}}
openai | 400 | history/text | {"error":{"message":"We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly.)"}}
google | 400 | history/empty | {"error":{"message":"Unable to submit request because it must have a text parameter."}}
bedrock | 400 | history/order | {"error":{"message":"A conversation must start with a user message. Try again with a conversation that starts with a user message."}}
here | 400 | history/order | {"error":{"message":"Cannot have 2 or more assistant messages at the end of the list."}}
here | 400 | history/order | {"error":{"message":"Only user, assistant and tool roles are supported, with the exception of an initial optional system message!"}}
here | 500 | history/tools | {"error":{"message":"Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1"}}
here | 500 | history/tools | {"error":{"message":"json: cannot unmarshal string into Go struct field ToolCallFunction.messages.tool_calls.function.arguments of type api.ToolCallFunctionArguments"}}
here | 500 | history/tools | {"error":{"message":"Value looks like object, but can't find closing '}' symbol"}}
here | 400 | history/empty | {"error":{"message":"invalid message content type: <nil>"}}
xai | 400 | history/empty | {"error":{"message":"Each message must have at least one content element."}}
zhipu | 400 | history/message | {"error":{"message":"messages 参数非法。请检查文档。"}}
dashscope | 400 | history/tools | {"error":{"message":"<400> InternalError.Algo.InvalidParameter: The 'function.arguments' parameter of the code model must be in JSON format."}}
google | 400 | history/thinking | {"error":{"code":429,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT","details":[]}}
mistral | 400 | history/tools | {"message":"Not the same number of function calls and responses"}
mistral | 400 | history/order | {"message":"Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"}
anthropic | 400 | history/thinking | {"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ´signature´ in ´thinking´ block"}}
anthropic | 400 | history/thinking | {"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.type: Expected ´thinking´ or ´redacted_thinking´, but found ´tool_use´."}}
deepseek | 400 | history/thinking | {"error":{"message":"The reasoning_content in the thinking mode must be passed back to the API."}}
anthropic | 400 | history/images | {"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"}}
openai | 400 | history/images | {"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg'].","code":"invalid_image_format"}}
groq | 400 | history/images | {"error":{"message":"Too many images provided. This model supports up to 5 images"}}
anthropic | 400 | history/text | {"type":"error","error":{"type":"invalid_request_error","message":"The request body is not valid JSON: no low surrogate in string: line 1 column 5"}}
anthropic | 400 | history/empty | {"type":"error","error":{"type":"invalid_request_error","message":"messages: text content blocks must be non-empty"}}
google | 400 | history/empty | {"error":{"code":429,"message":"Unable to submit request because it must include at least one parts field","status":"INVALID_ARGUMENT","details":[]}}
anthropic | 400 | history/order | {"type":"error","error":{"type":"invalid_request_error","message":"This model does not support assistant message prefill. The conversation must end with a user message."}}
deepseek | 400 | history/content | {"error":{"message":"Content Exists Risk"}}
dashscope | 400 | history/content | {"code":"DataInspectionFailed","message":"Input data may contain inappropriate content."}
anthropic | 400 | null | {"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 99999 > 64000, which is the maximum allowed number of output tokens"}}
openai | 400 | history/tools | {"error":{"message":"Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 86 instead.","type":"invalid_request_error","param":"messages[2].tool_calls[0].id","code":"string_above_max_length"}}
openai | 400 | history/tools | {"error":{"message":"Invalid 'input[3].call_id': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.","type":"invalid_request_error","param":"input[3].call_id","code":"string_above_max_length"}}
openai | 400 | history/thinking | {"error":{"message":"Item 'fc_68' of type 'function_call' was provided without its required 'reasoning' item: 'rs_68'.","type":"invalid_request_error","param":"input","code":null}}
anthropic | 400 | history/images | {"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.tool_result.content.1.image.source.base64.data: Image does not match the provided media type image/png"}}
anthropic | 400 | history/images | {"type":"error","error":{"type":"invalid_request_error","message":"Too much media: 0 document pages + 105 images > 100"}}
google | 400 | history/images | {"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}
bedrock | 400 | history/empty | {"message":"The text field in the ContentBlock object at messages.3.content.0 is blank. Add text to the text field, and try again."}
bedrock | 400 | history/empty | {"message":"The content field in the Message object at messages.4 is empty. Add a ContentBlock object to the content field and try again."}
moonshot | 400 | history/tools | {"error":{"message":"Invalid request: tool call id search:0 is duplicated","type":"invalid_request_error"}}
qwen | 400 | history/empty | {"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: The content field is a required field.","type":"invalid_request_error"}}
glm | 400 | history/tools | {"error":{"code":"1210","message":"Invalid API parameter, please check the documentation.Tool message must follow assistant tool_calls"}}
xai | 403 | history/content | {"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"}
groq | 400 | access | {"error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.","type":"invalid_request_error","code":"organization_restricted"}}
fireworks | 400 | history/tools | {"error":{"type":"invalid_request_error","message":"Error processing chat messages: Tool calls must have valid JSON arguments"}}
mistral | 400 | history/tools | {"object":"error","message":"Function name was a.b but must be a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 256.","type":"invalid_function_call","code":"3280"}
openrouter | 404 | access | {"error":{"message":"No endpoints found matching your data policy (Free model training). Configure: https://openrouter.ai/settings/privacy","code":404}}
openrouter | 404 | model | {"error":{"message":"No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing","code":404}}
openrouter | 402 | credit | {"error":{"message":"Prompt tokens limit exceeded: 12345 > 9999. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account","code":402}}
vllm | 400 | history/images | {"object":"error","message":"llama-3 is not a multimodal model","type":"BadRequestError","code":400}
vllm | 400 | history/tools | {"object":"error","message":"Expecting value: line 1 column 1 (char 0)","type":"BadRequestError","code":400}
vllm | 400 | history/tools | {"error":{"message":"Unterminated string starting at: line 1 column 12 (char 11)","type":"BadRequestError","code":400}}
llamacpp | 500 | history/order | {"error":{"code":500,"message":"Conversation roles must alternate user/assistant/user/assistant/... at row 1, column 2:","type":"server_error"}}
llamacpp | 500 | history/images | {"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}
litellm | 401 | access | {"error":{"message":"key not allowed to access model. This key can only access models=['a']. Tried to access b","type":"key_model_access_denied","param":"model","code":"401"}}
github | 413 | too-long | {"error":{"message":"Request body too large for gpt-4o model. Max size: 8000 tokens.","code":"tokens_limit_reached"}}
deepinfra | 403 | credit | {"detail":{"error":"inference prohibited, please set a payment method or top up"}}
siliconflow | 403 | credit | {"code":30001,"message":"Sorry, your account balance is insufficient","data":null}
volc | 429 | quota | {"error":{"code":"SetLimitExceeded","message":"Your account [x] has reached the set inference limit for the [doubao] model, and the model service has been paused.","type":"TooManyRequests"}}
volc | 403 | credit | {"error":{"code":"AccountOverdueError","message":"The request failed because your account has an overdue balance.","type":"Forbidden"}}
volc | 404 | access | {"error":{"code":"ModelNotOpen","message":"Your account x has not activated the model y. Please activate the model service in the Ark Console.","type":"NotFound"}}
volc | 400 | history/content | {"error":{"code":"SensitiveContentDetected","message":"The request failed because the input text may contain sensitive information.","type":"BadRequest"}}
volc | 400 | history/content | {"error":{"code":"InputTextSensitiveContentDetected","message":"The request failed because the input text may contain information that violates","type":"BadRequest"}}
qianfan | 200 | rate | {"error_code":18,"error_msg":"Open api qps request limit reached","id":"as-x"}
qianfan | 200 | quota | {"error_code":17,"error_msg":"Open api daily request limit reached"}
vertex | 400 | history/order | {"error":{"code":400,"message":"Please ensure that multiturn requests alternate between user and model.","status":"INVALID_ARGUMENT"}}
vertex | 400 | history/images | {"error":{"code":400,"message":"Unable to submit request because it has an empty inlineData parameter. Add a value to the parameter and try again.","status":"INVALID_ARGUMENT"}}
perplexity | 400 | history/order | {"error":{"message":"After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s).","type":"invalid_message","code":400}}
databricks | 403 | rate | {"error_code":"REQUEST_LIMIT_EXCEEDED","message":"REQUEST_LIMIT_EXCEEDED: Exceeded workspace input tokens per minute rate limit for x"}
bedrock | 404 | access | {"message":"Model use case details have not been submitted for this account. Fill out the Anthropic use case details form before using the model."}
anthropic | 429 | too-long | {"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}
openai | 400 | access | {"error":{"message":"Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.","type":"invalid_request_error","param":"stream","code":"unsupported_value"}}
groq | 400 | access | {"error":{"message":"The model ´x´ requires terms acceptance. Please have the org admin accept the terms at https://console.groq.com/playground?model=x","type":"invalid_request_error","code":"model_terms_required"}}
zhipu | 200 | rate | {"error":{"code":"1302","message":"您的账户已达到速率限制"}}
minimax | 200 | history/tools | {"base_resp":{"status_code":2013,"status_msg":"invalid params, tool result's tool id not found"}}
`

interface Sample {
  readonly provider: string
  readonly status: number
  readonly host?: string
  readonly errorType?: string | undefined
  readonly body: string
}

const parsed = samples
  .trim()
  .split('\n')
  .map((line) => {
    const [who = '', status = '', meaning = '', ...body] = line.split(' | ')
    const [means = '', part = null] = meaning.split('/')
    const [provider = ''] = who.split(' ')
    const host = /@(\S+)/.exec(who)?.[1] ?? ''
    const errorType = /!(\S+)/.exec(who)?.[1]
    // The samples are in a template literal, so they contain acute accents in place of backticks.
    const text = body.join(' | ').replaceAll('´', '`')
    const sample: Sample = { provider, host, errorType, status: Number(status), body: text }
    return { name: line.slice(0, 140), sample, means: means === 'null' ? null : means, part }
  })

function judge({ provider, status, body, host = '', errorType }: Sample) {
  const facts = readRefusal(body, { status, provider, host, errorType: errorType ?? null })
  return { facts, ...judgeRefusal(facts) }
}

const affected = (status: number, body: string) =>
  judgeRefusal(readRefusal(body, { status, provider: 'x', host: '' }), () => false).affects

const error = (message: string, more: object = {}) => ({ error: { message, ...more } })
const judgeBody = (status: number, body: object) =>
  judge({ provider: 'x', status, body: JSON.stringify(body) }).facts

describe('a refusal', () => {
  test.each(parsed.map((one) => [one.name, one] as const))('%s', (_name, { sample, means, part }) => {
    const judged = judge(sample)
    expect({ means: judged.means, part: judged.part }).toEqual({ means, part })
  })

  test('a rejection by a router contains the message of the provider behind it', () => {
    const raw = JSON.stringify(error('the inner reason'))
    const { message } = judgeBody(400, error('Provider returned error', { code: 400, metadata: { raw } }))
    expect(message).toBe('Provider returned error: the inner reason')
  })

  test('a refusal is bounded, however deep, long or wide it is', () => {
    let nested: object = error('innermost')
    for (let depth = 0; depth < 20; depth++) nested = error(`level ${depth}`, { metadata: { raw: nested } })
    expect(judgeBody(400, nested).message.length).toBeLessThan(200)
    const details = Array.from({ length: 500 }, (_, index) => ({ reason: `reason-${index}` }))
    const wide = judgeBody(400, error('m'.repeat(99_999), { details }))
    expect(wide.codes.length).toBeLessThanOrEqual(24)
    expect(wide.message.length).toBeLessThanOrEqual(2000)
  })

  test('a rejection names its wait in a member or in quoted headers', () => {
    const waitOf = (body: object) =>
      readRefusal(JSON.stringify(body), {
        status: 429,
        provider: 'x',
        host: '',
        repliedAt: 1_741_305_590_000,
      }).retryAfterMs
    expect(waitOf(error('slow', { retry_after: 7 }))).toBe(7000)
    expect(waitOf(error('slow', { metadata: { retry_after_seconds: '5' } }))).toBe(5000)
    expect(waitOf({ message: 'slow', retry_after_ms: 250 })).toBe(250)
    const headers = { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1741305600000' }
    expect(waitOf(error('slow', { metadata: { headers } }))).toBe(10_000)
    expect(waitOf(error('slow', { retry_after: 'soon', metadata: { headers: 'none' } }))).toBeNull()
  })

  test('a rejection with status 200 and no status in its body has no status', () => {
    expect(judgeBody(200, error('odd', { code: 'weird' })).status).toBe(0)
  })
})

/** A meaning that would affect the calls of other agents. */
const shared: readonly (string | null)[] = ['credit', 'quota', 'key', 'access', 'model', 'rate', 'overloaded']

describe('the evidence of a refusal', () => {
  const quoted = (message: string) => `Input should be 'function' [input_value='${message}', input_type=str]`
  const messages = parsed.map(({ sample }) => judge(sample).facts.message).filter((one) => one !== '')

  test.each([400, 404, 413, 422])(
    'with status %i, no known message that the request contains has a meaning for other agents',
    (status) => {
      for (const message of messages) {
        const body = JSON.stringify(error(quoted(message)))
        const facts = readRefusal(body, { status, provider: 'x', host: '' })
        const request = { messages: [{ role: 'user', content: `please read: ${message}` }] }
        const judged = judgeRefusal(facts, (phrase) => isEchoed(request, phrase))
        expect(shared, message).not.toContain(judged.means)
      }
    },
  )

  test.each([400, 422])('with status %i, words alone never prove such a meaning', (status) => {
    const proven = messages.filter((message) => {
      const body = JSON.stringify(error(quoted(message)))
      const judged = judgeRefusal(readRefusal(body, { status, provider: 'x', host: '' }), () => false)
      return shared.includes(judged.means) && judged.affects === 'all'
    })
    expect(proven).toEqual([])
  })

  test('is proven by a code with any status, and by words with a status of the account', () => {
    const sure = (status: number, body: object) => affected(status, JSON.stringify(body)) === 'all'
    expect(sure(400, error('no', { code: 'insufficient_quota' }))).toBe(true)
    for (const status of [401, 402, 403, 429]) expect(sure(status, error('insufficient funds'))).toBe(true)
    expect(sure(404, error('no such model'))).toBe(true)
    expect(sure(400, error('no such model'))).toBe(false)
    expect(sure(402, error('needs more credits, or fewer max_tokens'))).toBe(false)
  })

  test.each([401, 402, 403, 404, 407, 451])(
    'with status %i, a page, a text, an empty body and JSON without words prove nothing for other agents',
    (status) => {
      const pages = [
        '',
        'Forbidden',
        '<html><head><title>403 Forbidden</title></head><body>Request blocked.</body></html>',
        '{}',
        '[]',
        '"no"',
      ]
      for (const page of pages) {
        const { means, affects } = judgeRefusal(
          readRefusal(page, { status, provider: 'x', host: '' }),
          () => false,
        )
        expect(means === null || affects === 'agent', page).toBe(true)
      }
    },
  )

  test('with status 403, 407 or 451, JSON without a known code or known words proves nothing', () => {
    for (const status of [403, 407, 451])
      for (const body of [
        error('Forbidden'),
        error('blocked by policy', { code: status }),
        { message: 'no' },
      ])
        expect(affected(status, JSON.stringify(body)), JSON.stringify(body)).toBe('agent')
    for (const code of ['PERMISSION_DENIED', 'permission_error', 'unsupported_country_region_territory'])
      expect(affected(403, JSON.stringify(error('no', { code })))).toBe('all')
    for (const status of [401, 402]) expect(affected(status, JSON.stringify(error('no')))).toBe('all')
  })

  test('is not given by words if the request is not known, as in an answer with status 200', () => {
    const said = readRefusal(JSON.stringify(error("no tool 'insufficient funds'", { code: 429 })), {
      status: 200,
      provider: 'x',
      host: '',
    })
    expect(judgeRefusal(said)).toMatchObject({ means: 'credit', affects: 'agent' })
    expect(judgeRefusal({ ...said, message: 'limit of tokens per day' })).toMatchObject({ affects: 'agent' })
  })

  test('is a whole message that only the host of the provider can have written', () => {
    const low =
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.'
    const at = (host: string, message: string, status = 400) => {
      const text = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })
      return judgeRefusal(readRefusal(text, { status, provider: 'anthropic', host }), () => true)
    }
    expect(at('api.anthropic.com', low)).toMatchObject({ means: 'credit', affects: 'all' })
    expect(at('api.anthropic.com.other.test', low)).toMatchObject({ means: null, echoed: 'credit' })
    for (const quoted of [`messages.0: ${low}`, `${low} (input)`, `'${low}'`, `${low}\n${low}`])
      expect(shared, quoted).not.toContain(at('api.anthropic.com', quoted).means)
  })

  test('is not searched in the request for more phrases than the bound', () => {
    const searched: string[] = []
    const facts = judgeBody(400, error(messages.join(' ').slice(0, 100_000)))
    judgeRefusal({ ...facts, message: messages.join(' ') }, (phrase) => {
      searched.push(phrase)
      return true
    })
    expect(searched).toHaveLength(4)
  })

  test('is found in texts and names of the request, whatever quotes, spaces and escapes a server adds', () => {
    const request = { tools: [{ 'no such "model"': { list: ['a', 'Insufficient\n  FUNDS, he said'] } }] }
    expect(isEchoed(request, 'insufficient funds')).toBe(true)
    expect(isEchoed(request, 'no such model')).toBe(true)
    expect(isEchoed(request, 'insufficient balance')).toBe(false)
    expect(isEchoed(request, "' - '")).toBe(false)
  })
})

describe('a quota of a rolling window', () => {
  const perDay = (wait: string) =>
    judge({ provider: 'groq', status: 429, body: JSON.stringify(error(`Limit on tokens per day.${wait}`)) })
      .means

  test('is a rate limit if it ends within two minutes, and a used quota otherwise', () => {
    expect(perDay(' Please try again in 119s.')).toBe('rate')
    expect(perDay(' Please try again in 2m0s.')).toBe('rate')
    expect(perDay(' Please try again in 2m1s.')).toBe('quota')
    expect(perDay('')).toBe('quota')
  })
})
