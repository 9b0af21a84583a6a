#!/usr/bin/env bash
# One chat turn with grpcurl, which learns the contract from the server by reflection.
set -euo pipefail

# region chat turn
call() {
  grpcurl -plaintext -H "authorization: Bearer $RECOLLECT_API_KEY" \
    -d "$2" "$RECOLLECT_ADDR" "recollect.v1.$1"
}
thread='{"session": {"app_id": "support", "user_id": "ada", "session_key": "grpcurl"}}'

call ContextService/BuildContext '{"thread": '"$thread"',
  "input": [{"text": "What is my dog called?"}],
  "formats": ["PROVIDER_FORMAT_TEXT"]}'
call MessageService/AppendMessages '{"thread": '"$thread"', "messages": [
  {"role": "ROLE_USER", "parts": [{"text": "What is my dog called?"}]},
  {"role": "ROLE_ASSISTANT", "parts": [{"text": "Your dog is called Pixel."}]}]}'
# endregion
