// Messages of n8n as messages of Recollect, and back.
import type { Message, MessageContent } from '@n8n/ai-node-sdk';
import type { StoredMessage } from '@recollect/client';
import { answeredCalls, exact, keepExact, MessageParts, parsed, type NewPart } from '@recollect/client/adapters';
import { Role, type MessageInput, type Part } from '@recollect/client/v1';

const KEPT = 'n8n_message';
const ROLES: Record<Message['role'], Role> = {
	system: Role.SYSTEM,
	user: Role.USER,
	assistant: Role.ASSISTANT,
	tool: Role.TOOL,
};

/** A message as it is stored. */
export function stored(message: Message): MessageInput {
	const made = new MessageParts();
	const role = ROLES[message.role] ?? Role.USER;
	const parts = message.content.flatMap((content) => contentParts(content, message, made)).slice(0, 64);
	const given = { role, name: role === Role.TOOL ? '' : message.name, parts: parts.length > 0 ? parts : made.empty() };
	return keepExact(given, KEPT, plain(message), (input) => plain(restored(input)));
}

/** A stored message as n8n gave it. */
export function asGiven(message: StoredMessage): Message {
	return exact<Message>(message, KEPT) ?? restored(message);
}

/**
 * Messages for a model. Calls of tools without a result and results without a call are left
 * out, which the APIs of models refuse.
 */
export function forModel(messages: ReadonlyArray<Pick<StoredMessage, 'role' | 'name' | 'parts'>>): Message[] {
	const answered = answeredCalls(messages);
	return messages.flatMap((message) => {
		const parts = message.parts.filter(({ content }) => {
			const linked = content.case === 'toolCall' || content.case === 'toolResult';
			return !linked || answered.has(content.value.toolCallId);
		});
		const made = restored({ ...message, parts });
		return made.content.length > 0 ? [made] : [];
	});
}

function contentParts(content: MessageContent, { role, name }: Message, made: MessageParts): NewPart[] {
	switch (content.type) {
		case 'text':
			return made.text(content.text);
		case 'file': {
			const url = content.providerMetadata?.url;
			if (typeof url === 'string') return made.file({ url, mediaType: content.mediaType });
			return made.file({ data: content.data as string | Uint8Array, mediaType: content.mediaType });
		}
		case 'tool-call': {
			const { toolCallId = '', toolName, input } = content;
			if (role !== 'assistant' || !made.whole(input)) return made.text(`Called ${toolName} with ${input}`);
			return [{ content: { case: 'toolCall', value: { toolCallId: toolCallId || 'call', name: toolName, arguments: input } } }];
		}
		case 'tool-result': {
			const { toolCallId, result, isError = false } = content;
			const pieces = typeof result === 'string' ? made.text(result) : made.json(result);
			if (role !== 'tool') return pieces;
			return [{ content: { case: 'toolResult', value: { toolCallId, name, content: made.result(pieces), isError } } }];
		}
		// What a model thought is for that model alone.
		case 'reasoning':
			return [];
		default:
			return made.json(content);
	}
}

function restored({ role, name, parts }: Pick<StoredMessage, 'role' | 'name' | 'parts'>): Message {
	const content = parts.flatMap(contentOf);
	if (role === Role.TOOL) {
		const tool = parts.map((part) => (part.content.case === 'toolResult' ? part.content.value.name : '')).find(Boolean);
		return { role: 'tool', content, ...(tool && { name: tool }) };
	}
	const named = name ? { name } : {};
	if (role === Role.SYSTEM) return { role: 'system', content, ...named };
	return { role: role === Role.ASSISTANT ? 'assistant' : 'user', content, ...named };
}

function contentOf({ content }: Part): MessageContent[] {
	switch (content.case) {
		case 'text':
			return [{ type: 'text', text: content.value }];
		case 'json':
			return [{ type: 'text', text: content.value }];
		case 'toolCall': {
			const { toolCallId, name: toolName, arguments: input } = content.value;
			return [{ type: 'tool-call', toolCallId, toolName, input }];
		}
		case 'toolResult': {
			const { toolCallId, content: pieces, isError } = content.value;
			const [first] = pieces;
			const isJson = pieces.length === 1 && first?.content.case === 'json';
			const texts = pieces.map(({ content: { case: kind, value } }) => (kind === 'text' || kind === 'json' ? value : ''));
			return [{ type: 'tool-result', toolCallId, result: isJson ? parsed(texts[0]!) : texts.join(''), isError }];
		}
		case 'file': {
			const { location, mimeType } = content.value;
			const url = location.case === 'url' ? location.value : '';
			const inline = /^data:[^,]*;base64,(.*)$/s.exec(url);
			if (inline) return [{ type: 'file', mediaType: mimeType, data: inline[1]! }];
			return [{ type: 'file', mediaType: mimeType, data: '', providerMetadata: { url } }];
		}
		default:
			return [];
	}
}

/** A message as JSON. */
function plain(message: Message): unknown {
	return JSON.parse(JSON.stringify(message));
}
