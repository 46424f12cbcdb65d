"""Remove an idea from the core, and the test that is named for it turns red."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import CORE, ROOT


@dataclass(frozen=True)
class Mutation:
    """`old` becomes `new` in a module's text, and `test` must turn red."""

    old: str
    new: str
    test: str


SCALED = "Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])"
HIDE = "scores = scores.masked_fill(~mask, -torch.inf)"
SOFTMAX = "weights = scores.softmax(dim=-1)"

MUTATIONS = {
    "recurrence": {
        "the slip gets lost": Mutation(
            "self.decode(tgt_ids, state)\n        return logits",
            "self.decode(tgt_ids, None)\n        return logits",
            "test_last_state_is_all_that_the_decoder_knows_of_the_source",
        ),
        "padding is read": Mutation(
            "lengths.cpu(), batch_first",
            "torch.full_like(lengths, X.shape[1]).cpu(), batch_first",
            "test_padding_of_the_source_is_invisible",
        ),
        "encoder and decoder are one": Mutation(
            "states, state = self.decoder(",
            "states, state = self.encoder(",
            "test_seq2seq_equals_a_slow_loop",
        ),
        "source read with the target's words": Mutation(
            "self.src_embedding(src_ids)", "self.tgt_embedding(src_ids % 7)", "test_seq2seq_equals_a_slow_loop"
        ),
        "decoder's state not handed on": Mutation(
            "logits, state = step(ids, state)",
            "logits, _ = step(ids, state)",
            "test_greedy_begins_with_bos_and_goes_on_from_its_own_words",
        ),
        "least probable word": Mutation(
            "logits[:, -1:].argmax(dim=-1)", "logits[:, -1:].argmin(dim=-1)", "test_greedy_equals_a_slow_loop"
        ),
        "stops at the first end sign": Mutation(
            "not finished.all()", "not finished.any()", "test_greedy_waits_for_the_last_eos"
        ),
        "an end sign is soon forgotten": Mutation(
            "finished = finished | (ids == eos_id)", "finished = ids == eos_id", "test_greedy_waits_for_the_last_eos"
        ),
        "one word more than asked for": Mutation(
            "len(written) < max_len", "len(written) <= max_len", "test_greedy_stops_at_max_len"
        ),
        "window looks back only": Mutation(
            "F.pad(X, (0, 0, self.window, self.window))",
            "F.pad(X, (0, 0, 2 * self.window, 0))",
            "test_window_hears_its_neighbours_only",
        ),
        "window with features and words mixed up": Mutation(
            "2 * self.window + 1, 1).mT", "2 * self.window + 1, 1)", "test_word_window_equals_a_slow_loop"
        ),
        "window without a bend": Mutation(
            "F.relu(self.W(neighbours.flatten(2)))",
            "self.W(neighbours.flatten(2))",
            "test_word_window_equals_a_slow_loop",
        ),
        "no dilation": Mutation(
            "k**layer for layer in range(n_layers)",
            "1 for layer in range(n_layers)",
            "test_dilated_convolutions_hear_k_to_the_number_of_layers",
        ),
        "dilated the wrong way up": Mutation(
            "for layer in range(n_layers)]",
            "for layer in reversed(range(n_layers))]",
            "test_dilated_convolutions_equal_a_slow_loop",
        ),
        "convolutions look ahead": Mutation(
            "F.pad(features, (before, 0))",
            "F.pad(features, (0, before))",
            "test_dilated_convolutions_hear_k_to_the_number_of_layers",
        ),
        "reach squared": Mutation(
            ".sum(dim=(0, 2)).sqrt()", ".sum(dim=(0, 2))", "test_reach_equals_finite_differences"
        ),
        "reach of sums that cancel": Mutation(
            "jacobian.square().sum(dim=(0, 2)).sqrt()",
            "jacobian.sum(dim=(0, 2)).abs()",
            "test_reach_equals_finite_differences",
        ),
    },
    "attention": {
        "no √d_k": Mutation(SCALED, "Q @ K.transpose(-2, -1)", "test_attention_equals_torch"),
        "d_k in place of √d_k": Mutation(
            SCALED, "Q @ K.transpose(-2, -1) / Q.shape[-1]", "test_attention_equals_a_slow_loop"
        ),
        "the keys' number in place of d_k": Mutation(
            SCALED,
            "Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-2])",
            "test_attention_is_the_softmax_of_the_scaled_dot_score",
        ),
        "mask polarity flipped": Mutation(
            HIDE, "scores = scores.masked_fill(mask, -torch.inf)", "test_mask_true_means_may_attend"
        ),
        "mask transposed": Mutation(
            HIDE,
            "scores = scores.masked_fill(~mask.mT, -torch.inf)",
            "test_mask_rows_are_queries_and_columns_are_keys",
        ),
        "mask forgotten": Mutation(HIDE, "pass", "test_attention_equals_torch"),
        "0 in place of −∞": Mutation(
            HIDE, "scores = scores.masked_fill(~mask, 0)", "test_hidden_weights_are_exactly_zero"
        ),
        "−1e9 in place of −∞": Mutation(
            HIDE, "scores = scores.masked_fill(~mask, -1e9)", "test_attention_keeps_the_precision_it_is_given"
        ),
        "masked after the softmax, not renormalised": Mutation(
            f"{HIDE}\n    {SOFTMAX}",
            "pass\n    weights = scores.softmax(dim=-1) * (1 if mask is None else mask)",
            "test_masked_is_zeroed_and_renormalised",
        ),
        "softmax over the queries": Mutation(
            SOFTMAX, "weights = scores.softmax(dim=-2)", "test_weights_are_a_distribution_over_the_keys"
        ),
        "no softmax": Mutation(SOFTMAX, "weights = scores", "test_output_lies_among_the_values"),
        "a uniform mean": Mutation(
            SOFTMAX, "weights = (0 * scores).softmax(dim=-1)", "test_attention_equals_a_slow_loop"
        ),
        "scores without the scale": Mutation(
            "return dot_score(Q, K) / math.sqrt(Q.shape[-1])",
            "return dot_score(Q, K)",
            "test_variance_of_the_dot_product_is_d_k_and_the_scale_makes_it_1",
        ),
        "additive score without tanh": Mutation(
            "self.v(hidden.tanh())", "self.v(hidden)", "test_additive_score_equals_a_slow_loop"
        ),
        "additive score of the key alone": Mutation(
            "self.W_1(Q).unsqueeze(-2) + ", "0 * self.W_1(Q).unsqueeze(-2) + ", "test_additive_score_equals_a_slow_loop"
        ),
        "bilinear score halved": Mutation(
            "return Q @ self.W(K)", "return Q / 2 @ self.W(K)", "test_bilinear_score_with_the_identity_is_the_dot_score"
        ),
        "additive score with a bias": Mutation(
            "self.W_1 = nn.Linear(d_q, d_hidden, bias=False)",
            "self.W_1 = nn.Linear(d_q, d_hidden)",
            "test_parameters_of_the_scores_are_those_of_their_formulas",
        ),
    },
    "alignment": {
        "context of the wrong weights": Mutation(
            "c = weights @ reading.H", "c = weights.flip(-1) @ reading.H", "test_translator_equals_a_slow_loop"
        ),
        "context cut out": Mutation(
            "torch.cat([h, c], dim=-1)", "torch.cat([h, 0 * c], dim=-1)", "test_translator_equals_a_slow_loop"
        ),
        "context before the state": Mutation(
            "torch.cat([h, c], dim=-1)", "torch.cat([c, h], dim=-1)", "test_translator_equals_a_slow_loop"
        ),
        "combination without tanh": Mutation(
            "torch.tanh(self.W_c(torch.cat([h, c], dim=-1)))",
            "self.W_c(torch.cat([h, c], dim=-1))",
            "test_translator_equals_a_slow_loop",
        ),
        "padding takes part": Mutation(
            "scores.masked_fill(~reading.mask, -torch.inf)", "scores", "test_padding_is_invisible"
        ),
        "0 in place of −∞": Mutation(
            "scores.masked_fill(~reading.mask, -torch.inf)",
            "scores.masked_fill(~reading.mask, 0)",
            "test_weights_are_a_distribution_over_the_words_of_the_source",
        ),
        "padding is id 0 whatever it is": Mutation(
            "(src_ids != self.pad_id).unsqueeze(1)", "(src_ids != 0).unsqueeze(1)", "test_padding_may_have_another_id"
        ),
        "softmax over the target": Mutation(
            "-torch.inf).softmax(dim=-1)\n        c =",
            "-torch.inf).softmax(dim=-2)\n        c =",
            "test_weights_are_a_distribution_over_the_words_of_the_source",
        ),
        "state not handed on": Mutation(
            "reading._replace(state=state), weights",
            "reading, weights",
            "test_one_word_at_a_time_gives_what_one_pass_gives",
        ),
        "the scale forgotten": Mutation(
            '"scaled dot": lambda: scaled_dot_score',
            '"scaled dot": lambda: dot_score',
            "test_translator_equals_a_slow_loop",
        ),
        "possible links ignored": Mutation(
            "(predicted & (sure | possible)).sum()",
            "(predicted & sure).sum()",
            "test_alignment_error_rate_by_hand",
        ),
        "sure links no longer possible": Mutation(
            "(predicted & (sure | possible))", "(predicted & possible)", "test_alignment_error_rate_equals_sets"
        ),
        "possible links must be found": Mutation(
            "predicted.sum() + sure.sum()",
            "predicted.sum() + (sure | possible).sum()",
            "test_alignment_error_rate_by_hand",
        ),
        "hop forgets the question": Mutation(
            "return u + (weights @ M_out)", "return (weights @ M_out)", "test_a_hop_equals_a_slow_loop"
        ),
        "hop reads what it searched": Mutation(
            "return u + (weights @ M_out)", "return u + (weights @ M_in)", "test_a_hop_equals_a_slow_loop"
        ),
        "hop scaled": Mutation(
            "dot_score(u.unsqueeze(1), M_in)",
            "scaled_dot_score(u.unsqueeze(1), M_in)",
            "test_a_hop_is_unscaled_attention_with_the_question_added",
        ),
        "every hop asks the first question": Mutation(
            "u, shares = self.hop(u, M_in, M_out, mask)",
            "u, shares = self.hop(self.ask(question).sum(dim=1), M_in, M_out, mask)",
            "test_memory_network_equals_a_slow_loop",
        ),
        "age counted from the oldest": Mutation(
            "mask.flip(-1).cumsum(dim=-1).flip(-1)", "mask.cumsum(dim=-1)", "test_memory_network_equals_a_slow_loop"
        ),
        "empty facts are found": Mutation(
            "self.hop(u, M_in, M_out, mask)", "self.hop(u, M_in, M_out)", "test_padding_of_facts_and_words_is_invisible"
        ),
    },
    "self_attention": {
        "W_Q and W_K swapped": Mutation(
            "self.W_Q(X), self.W_K(X)", "self.W_K(X), self.W_Q(X)", "test_self_attention_equals_a_slow_loop"
        ),
        "values not projected by W_V": Mutation(
            "self.W_V(X), mask", "self.W_K(X), mask", "test_self_attention_equals_torch_with_one_head"
        ),
        "mask dropped on the way": Mutation("self.W_V(X), mask)", "self.W_V(X))", "test_mask_reaches_the_weights"),
        "jacobian without −ppᵀ": Mutation(
            " - p.unsqueeze(-1) * p.unsqueeze(-2)", "", "test_softmax_jacobian_is_symmetric_and_its_rows_sum_to_0"
        ),
        "jacobian with +ppᵀ": Mutation(
            "torch.diag_embed(p) - p", "torch.diag_embed(p) + p", "test_softmax_jacobian_equals_autograd"
        ),
        "entropy in bits": Mutation(
            ".sum(dim=-1)", ".sum(dim=-1) / torch.tensor(2.0).log()", "test_entropy_of_one_hot_and_of_equal_shares"
        ),
        "entropy averaged over the keys": Mutation(".sum(dim=-1)", ".mean(dim=-1)", "test_entropy_equals_torch"),
    },
    "masking": {
        "causal is strict, j < i": Mutation(
            ".tril()", ".tril(-1)", "test_first_position_sees_itself_and_the_last_sees_all"
        ),
        "causal looks one ahead": Mutation(
            ".tril()", ".tril(1)", "test_leak_is_zero_above_the_diagonal_behind_a_causal_mask"
        ),
        "causal transposed": Mutation(".tril()", ".triu()", "test_future_token_changes_nothing_earlier"),
        "causal hides nothing": Mutation(".tril()", "", "test_causal_mask_equals_torch"),
        "padding polarity flipped": Mutation("ids != pad_id", "ids == pad_id", "test_padding_is_invisible"),
        "padding is whatever is at most pad_id": Mutation("ids != pad_id", "ids > pad_id", "test_padding_is_invisible"),
        "padding hides queries": Mutation(
            "mask.unsqueeze(1)", "mask.unsqueeze(2)", "test_padding_hides_keys_not_queries"
        ),
        "combine allows what any mask allows": Mutation(
            "torch.logical_and", "torch.logical_or", "test_combine_allows_what_every_mask_allows"
        ),
        "combine trips over None": Mutation(" if mask is not None]", "]", "test_combine_skips_none"),
        "leak transposed": Mutation(
            ".amax(dim=(1, 3))", ".amax(dim=(1, 3)).mT", "test_leak_rows_are_outputs_and_columns_are_inputs"
        ),
        "leak hears only positive slopes": Mutation(".abs().amax", ".amax", "test_leak_equals_finite_differences"),
    },
    "multihead": {
        "rows instead of columns switched off": Mutation(
            "W.unflatten(1, (layer.n_heads, -1))[:, list(off)] = 0",
            "W.unflatten(0, (layer.n_heads, -1))[list(off)] = 0",
            "test_without_heads_leaves_their_terms_out_of_the_sum",
        ),
        "heads stay off": Mutation("W.copy_(kept)", "pass", "test_heads_come_back_after_the_block_also_after_an_error"),
        "heads cut without exchanging axes": Mutation(
            "X.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
            "X.reshape(*X.shape[:-2], n_heads, X.shape[-2], -1)",
            "test_a_head_is_a_slice_of_every_vector",
        ),
        "heads joined without exchanging axes": Mutation(
            "return heads.transpose(-3, -2).flatten(-2)",
            "return heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)",
            "test_merged_heads_stand_side_by_side_at_each_position",
        ),
        "joined wrongly, the future leaks": Mutation(
            "return heads.transpose(-3, -2).flatten(-2)",
            "return heads.reshape(*heads.shape[:-3], heads.shape[-2], -1)",
            "test_future_token_changes_nothing_earlier",
        ),
        "heads interleaved": Mutation(
            "X.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
            "X.unflatten(-1, (-1, n_heads)).movedim(-1, -3)",
            "test_one_big_projection_equals_separate_heads",
        ),
        "no W_O": Mutation(
            "return self.W_O(merge_heads(heads))", "return merge_heads(heads)", "test_multihead_equals_torch"
        ),
        "scaled by the root of d_model": Mutation(
            "heads, weights = attention(Q, K, V, mask)",
            "heads, weights = attention(Q / Q.shape[1] ** 0.5, K, V, mask)",
            "test_every_head_is_scaled_by_its_own_width",
        ),
        "values projected by W_K": Mutation(
            "K, V = self.W_K(key), self.W_V(value)",
            "K, V = self.W_K(key), self.W_K(value)",
            "test_multihead_equals_torch",
        ),
        "the first head's weights for all": Mutation(
            "return self.W_O(merge_heads(heads)), weights",
            "return self.W_O(merge_heads(heads)), weights if weights is None else weights[:, :1].expand_as(weights)",
            "test_heads_do_not_see_each_other",
        ),
        "fused without the mask": Mutation("attn_mask=mask", "attn_mask=None", "test_padding_is_invisible"),
        "fused scaled otherwise": Mutation(
            "attn_mask=mask, dropout_p=dropout",
            "attn_mask=mask, dropout_p=dropout, scale=1.0",
            "test_fused_kernel_equals_the_clear_form",
        ),
        "dropout also at rest": Mutation(
            "self.dropout if self.training else 0.0",
            "self.dropout",
            "test_dropout_falls_on_the_weights_while_training_only",
        ),
        "no dropout on the weights": Mutation(
            "(F.dropout(weights, dropout) @ V if dropout else heads)",
            "heads",
            "test_dropout_falls_on_the_weights_while_training_only",
        ),
        "cache puts new keys in front": Mutation(
            "torch.cat([self.K, K], dim=-2)", "torch.cat([K, self.K], dim=-2)", "test_cache_equals_no_cache"
        ),
        "cache forgets": Mutation(
            "self.K = K if self.K is None else torch.cat([self.K, K], dim=-2)",
            "self.K = K",
            "test_cache_equals_no_cache",
        ),
        "memory cache projects every time": Mutation(
            "        if self.K is None:\n            self.K, self.V = project()",
            "        self.K, self.V = project()",
            "test_memory_cache_projects_the_memory_once_and_keeps_it",
        ),
        "a beam keeps its old values": Mutation(
            "self.K, self.V = self.K[rows], self.V[rows]",
            "self.K = self.K[rows]",
            "test_selected_rows_go_on_as_if_they_had_been_alone",
        ),
    },
    "positional": {
        "angles in single precision": Mutation(
            "return positions[:, None] * frequencies",
            "return positions.float()[:, None] * frequencies.float()",
            "test_far_positions_keep_their_digits",
        ),
        "i in place of 2i": Mutation(
            "torch.arange(0, d, 2, dtype=torch.double) / d",
            "torch.arange(d // 2, dtype=torch.double) / d",
            "test_sinusoidal_encoding_equals_the_formula",
        ),
        "positions begin at 1": Mutation(
            "torch.arange(start, start + n, dtype=torch.double)",
            "torch.arange(start + 1, start + n + 1, dtype=torch.double)",
            "test_position_0_is_sine_0_and_cosine_1",
        ),
        "the start is forgotten": Mutation(
            "turned = angles(X.shape[-2], X.shape[-1], base, start)",
            "turned = angles(X.shape[-2], X.shape[-1], base)",
            "test_cache_equals_no_cache",
        ),
        "both lines written for 2i": Mutation(
            "torch.stack([turned.sin(), turned.cos()], dim=-1)",
            "torch.stack([turned.cos(), 0 * turned], dim=-1)",
            "test_a_shift_of_sinusoids_is_a_rotation_of_each_pair",
        ),
        "sines first, then cosines": Mutation(
            "return waves.flatten(-2)",
            "return waves.transpose(-2, -1).flatten(-2)",
            "test_sinusoidal_encoding_equals_the_formula",
        ),
        "the table gives its last rows": Mutation(
            "return self.table[:n]",
            "return self.table[-n:]",
            "test_learned_positions_are_rows_of_a_table_that_is_trained",
        ),
        "a table that pretends to go on": Mutation(
            "if not 1 <= n <= len(self.table):", "if False:", "test_bad_input_gets_a_sentence[not learned]"
        ),
        "a turn that stretches": Mutation(
            "even * sin + odd * cos", "even * sin - odd * cos", "test_rotary_equals_complex_multiplication"
        ),
        "keys turned, queries not": Mutation(
            "rotary(Q, start), rotary(K)", "Q, rotary(K)", "test_words_far_into_a_text_are_treated_like_the_first"
        ),
        "values turned too": Mutation(
            "rotary(K), V, mask", "rotary(K), rotary(V), mask", "test_attention_equals_a_slow_loop"
        ),
        "queries turned as if they stood first": Mutation(
            "start = _first_query(Q.shape[-2], K.shape[-2])", "start = 0", "test_cache_equals_no_cache"
        ),
        "distances with the other sign": Mutation(
            "return torch.arange(m) - torch.arange(first, m)[:, None]",
            "return torch.arange(first, m)[:, None] - torch.arange(m)",
            "test_distances_are_key_minus_query",
        ),
        "the bias forgotten": Mutation(
            "weights = (scaled_dot_score(Q, K) + B).softmax(dim=-1)",
            "weights = (scaled_dot_score(Q, K) + 0 * B).softmax(dim=-1)",
            "test_order_matters",
        ),
        "the mask forgotten where there is a bias": Mutation(
            "B = B.masked_fill(~mask, -torch.inf)", "pass", "test_future_and_padding_are_invisible"
        ),
        "dropout forgotten where there is a bias": Mutation(
            "return F.dropout(weights, dropout) @ V, weights",
            "return weights @ V, weights",
            "test_dropout_falls_on_the_weights_while_training_only",
        ),
        "Shaw without √d_k": Mutation(
            "Q @ self.a.T / math.sqrt(Q.shape[-1])", "Q @ self.a.T", "test_attention_equals_a_slow_loop"
        ),
        "distances not clipped alike": Mutation(
            ".clamp(-most, most) + most", ".clamp(-most, most).abs() + most", "test_attention_equals_a_slow_loop"
        ),
        "one slope for all heads": Mutation(
            "2.0 ** (-8 * h / power)",
            "2.0 ** (-8 * torch.ones(n_heads) / power)",
            "test_slopes_of_eight_heads_are_those_of_the_paper",
        ),
        "one rule of slopes for any number of heads": Mutation(
            "power = 2 ** (n_heads.bit_length() - 1)",
            "power = n_heads",
            "test_slopes_of_twelve_heads_are_those_that_others_use",
        ),
        "buckets of equal width": Mutation(
            "exact * times.log() / math.log(max_distance / exact)",
            "exact * (times - 1) / (max_distance / exact - 1)",
            "test_buckets_equal_a_count_of_whole_steps",
        ),
        "no last bucket": Mutation(".clamp(max=n_buckets - 1)", "", "test_buckets_equal_a_count_of_whole_steps"),
        "ALiBi rewards distance": Mutation(
            "return -slopes[:, None, None]", "return slopes[:, None, None]", "test_alibi_bias_equals_a_slow_loop"
        ),
    },
    "layers": {
        "variance unbiased": Mutation(
            "centred.square().mean(dim=-1, keepdim=True)",
            "X.var(dim=-1, keepdim=True)",
            "test_variance_is_biased",
        ),
        "ε outside the root": Mutation(
            "torch.sqrt(variance + eps)", "(torch.sqrt(variance) + eps)", "test_epsilon_stands_inside_the_root"
        ),
        "no ε": Mutation(
            "torch.sqrt(variance + eps)",
            "torch.sqrt(variance)",
            "test_a_constant_vector_becomes_0_and_its_gradient_is_finite",
        ),
        "mean not subtracted": Mutation(
            "X - X.mean(dim=-1, keepdim=True)", "X", "test_standardise_forgets_shift_and_scale"
        ),
        "one mean for all positions": Mutation(
            "X - X.mean(dim=-1, keepdim=True)", "X - X.mean()", "test_each_token_is_normalised_by_itself"
        ),
        "norm without γ and β": Mutation(
            "F.layer_norm(X, self.gain.shape, self.gain, self.bias, self.eps)",
            "F.layer_norm(X, self.gain.shape, None, None, self.eps)",
            "test_layer_norm_equals_torch",
        ),
        "norm forgotten": Mutation(
            "return F.layer_norm(X, self.gain.shape, self.gain, self.bias, self.eps)",
            "return X + 0 * self.gain",
            "test_encoder_layer_equals_torch",
        ),
        "no ReLU": Mutation("self.W_1(X).relu_()", "self.W_1(X)", "test_feed_forward_bends"),
        "ReLU after the second matrix": Mutation(
            "self.W_2(self.W_1(X).relu_())", "self.W_2(self.W_1(X)).relu_()", "test_feed_forward_equals_a_slow_loop"
        ),
        "no residual": Mutation(
            "X = X + self.dropout(change)", "X = self.dropout(change)", "test_the_residual_adds_1_to_the_derivative"
        ),
        "no residual, seen by a whole layer": Mutation(
            "X = X + self.dropout(change)", "X = self.dropout(change)", "test_decoder_layer_equals_torch"
        ),
        "dropout on the sum": Mutation(
            "X = X + self.dropout(change)",
            "X = self.dropout(X + change)",
            "test_dropout_falls_on_the_change_and_never_on_what_goes_round_it",
        ),
        "no dropout": Mutation(
            "X = X + self.dropout(change)",
            "X = X + change",
            "test_dropout_falls_on_the_change_and_never_on_what_goes_round_it",
        ),
        "post-norm and pre-norm swapped": Mutation(
            'self.is_post = norm == "post"', 'self.is_post = norm == "pre"', "test_post_norm_is_the_norm_of_the_sum"
        ),
        "pre-norm also carries the normed vector": Mutation(
            "return self.leave(X, sublayer(self.enter(X)))",
            "return self.leave(self.enter(X), sublayer(self.enter(X)))",
            "test_pre_norm_adds_the_sublayer_of_the_norm",
        ),
        "residual of the feed-forward network left out": Mutation(
            "return around_feed_forward(X, self.feed_forward), weights",
            "return around_feed_forward.leave(0 * X, self.feed_forward(around_feed_forward.enter(X))), weights",
            "test_encoder_layer_is_two_sublayers_each_within_its_residual",
        ),
        "mask of the encoder layer dropped": Mutation(
            "self.self_attention(inner, inner, inner, mask, need_weights)",
            "self.self_attention(inner, inner, inner, None, need_weights)",
            "test_padding_is_invisible",
        ),
        "mask of the decoder layer dropped": Mutation(
            "inner, inner, inner, tgt_mask, need_weights, caches[0]",
            "inner, inner, inner, None, need_weights, caches[0]",
            "test_future_token_changes_nothing_earlier",
        ),
        "memory's mask dropped": Mutation(
            "around_cross.enter(Y), memory, memory, memory_mask,",
            "around_cross.enter(Y), memory, memory, None,",
            "test_padding_is_invisible",
        ),
        "memory normed with the queries' norm": Mutation(
            "around_cross.enter(Y), memory, memory, memory_mask,",
            "around_cross.enter(Y), around_cross.enter(memory), around_cross.enter(memory), memory_mask,",
            "test_decoder_layer_equals_torch",
        ),
        "one cache for both attentions": Mutation(
            "need_weights, caches[1]", "need_weights, caches[0]", "test_decoder_with_caches_equals_decoder_without"
        ),
    },
    "transformer": {
        "embeddings not scaled": Mutation(
            "self.tokens(ids) * self.scale", "self.tokens(ids)", "test_embedding_is_scaled_and_knows_places"
        ),
        "no positions": Mutation(
            "self.tokens(ids) * self.scale + self.positions[start:end]",
            "self.tokens(ids) * self.scale",
            "test_embedding_is_scaled_and_knows_places",
        ),
        "positions always from the start": Mutation(
            "self.positions[start:end]", "self.positions[: end - start]", "test_cached_equals_uncached"
        ),
        "embeddings as small as they are kept": Mutation(
            "std=config.d_model**-0.5", "std=config.d_model**-1.0", "test_scaled_embeddings_are_as_large_as_positions"
        ),
        "no dropout on the sum": Mutation(
            "return self.dropout(self.tokens(ids)",
            "return (self.tokens(ids)",
            "test_dropout_falls_on_embeddings_while_training_only",
        ),
        "output not tied": Mutation(
            "return F.linear(X, self.tokens.weight)",
            "return F.linear(X, self.tokens.weight.roll(1, 0))",
            "test_logits_are_dot_products_with_the_embeddings",
        ),
        "padding of the source is read": Mutation(
            "            X, _ = layer(X, mask)\n        return self.encoder_norm(X)",
            "            X, _ = layer(X, None)\n        return self.encoder_norm(X)",
            "test_padding_is_invisible",
        ),
        "padding of the memory is read": Mutation(
            "return self.decode(tgt_ids, memory, padding_mask(src_ids, self.config.pad_id))",
            "return self.decode(tgt_ids, memory)",
            "test_padding_is_invisible",
        ),
        "the decoder sees the future": Mutation(
            "Y, _ = layer(Y, memory, mask, memory_mask, caches=layer_caches)",
            "Y, _ = layer(Y, memory, None, memory_mask, caches=layer_caches)",
            "test_future_token_changes_nothing_earlier",
        ),
        "memory and target swapped": Mutation(
            "Y, _ = layer(Y, memory, mask, memory_mask, caches=layer_caches)",
            "Y, _ = layer(Y, Y, mask, None, caches=layer_caches)",
            "test_every_output_depends_on_every_source_token",
        ),
        "a decoder layer reads what the last one made of the memory": Mutation(
            "Y, _ = layer(Y, memory, mask, memory_mask, caches=layer_caches)",
            "Y, _ = layer(Y, memory, mask, memory_mask, caches=layer_caches)\n            memory = memory * 0.9",
            "test_every_decoder_layer_reads_the_finished_memory",
        ),
        "a norm after the stack under post-norm": Mutation(
            'nn.Identity() if config.norm == "post" else LayerNorm(config.d_model)',
            "LayerNorm(config.d_model)",
            "test_post_norm_has_no_norm_after_the_stack_and_pre_norm_has_one",
        ),
        "no norm after the stack under pre-norm": Mutation(
            'nn.Identity() if config.norm == "post" else LayerNorm(config.d_model)',
            "nn.Identity()",
            "test_transformer_equals_torch",
        ),
        "pre-norm stacks end without their norm": Mutation(
            "        return self.decoder_norm(Y)", "        return Y", "test_transformer_equals_torch"
        ),
        "new tokens masked as if they came first": Mutation(
            "mask = causal_mask(start + tgt_ids.shape[1])[start:]",
            "mask = causal_mask(start + tgt_ids.shape[1])[: tgt_ids.shape[1]]",
            "test_cached_equals_uncached",
        ),
        "the weights of the first layer for all": Mutation(
            'kept["cross"].append(cross)',
            'kept["cross"].append(kept["cross"][0] if kept["cross"] else cross)',
            "test_all_weights_are_those_of_every_layer_and_head",
        ),
        "one norm too few counted": Mutation(
            "counts[part] += parameter.numel()", "counts[part] = parameter.numel()", "test_paper_sizes_part_by_part"
        ),
        "the big model as wide as the base": Mutation(
            "d_model=1024, n_heads=16, d_ff=4096", "d_model=512, n_heads=16, d_ff=4096", "test_paper_sizes_part_by_part"
        ),
        "GPT that looks ahead": Mutation(
            "return combine(causal_mask(ids.shape[1]).to(ids.device), super().mask(ids))",
            "return super().mask(ids)",
            "test_who_sees_ahead",
        ),
        "GPT that reads padding as words": Mutation(
            "return combine(causal_mask(ids.shape[1]).to(ids.device), super().mask(ids))",
            "return causal_mask(ids.shape[1]).T.expand(len(ids), -1, -1)",
            "test_decoder_only_is_encoder_only_under_a_causal_mask",
        ),
        "an id beyond the vocabulary goes unnoticed": Mutation(
            'require_tokens("ids", ids, self.tokens.weight)',
            "pass",
            "test_bad_input_gets_a_sentence[an id beyond the vocabulary]",
        ),
    },
    "data": {
        "words not weighed": Mutation("pairs[pair] += count", "pairs[pair] += 1", "test_learned_merges_are_those_of_the_paper"),
        "the rarest pair": Mutation(
            "(-pairs[pair], pair)", "(pairs[pair], pair)", "test_learned_merges_are_those_of_the_paper"
        ),
        "ties by chance": Mutation(
            "(-pairs[pair], pair)", "-pairs[pair]", "test_a_tie_goes_to_the_first_in_the_alphabet"
        ),
        "no mark at the end of a word": Mutation('f"{word[-1]}·"', "word[-1]", "test_ten_words_by_hand"),
        "merges replayed backwards": Mutation(
            "for merge in merges:",
            "for merge in merges[::-1]:",
            "test_the_library_cuts_every_word_of_the_story_in_the_same_way",
        ),
        "special tokens can be typed": Mutation(
            "encode_special_tokens = True", "encode_special_tokens = False", "test_a_special_token_that_is_typed_is_text"
        ),
        "every letter gets in": Mutation(
            "            limit_alphabet=alphabet,\n", "", "test_a_vocabulary_is_never_larger_than_asked_for"
        ),
        "rare letters get in": Mutation(
            "if min_count > 1:", "if False:", "test_letters_seen_too_few_times_are_unknown"
        ),
        "digits are joined": Mutation(
            "individual_digits=True", "individual_digits=False", "test_every_digit_is_a_piece_of_its_own"
        ),
        "blanks at the ends are read": Mutation(
            "                normalizers.Strip(),\n", "", "test_all_white_space_is_one_space"
        ),
        "a tab is a letter": Mutation('    r"\\s+": " ",\n', "", "test_all_white_space_is_one_space"),
        "what is unknown is one sign": Mutation(
            'pieces.append(next(signs, ""))',
            'pieces.append(next(iter(unknown), ""))',
            "test_unknown_signs_are_told_and_take_their_places_again",
        ),
        "decoded beyond the end sign": Mutation(
            "ids = ids[: ids.index(self.eos_id)]", "ids = ids[:]", "test_decode_stops_at_the_first_eos_and_skips_special_tokens"
        ),
        "padding on the left": Mutation(
            "[*row, *[pad_id] * (longest - len(row))]",
            "[*[pad_id] * (longest - len(row)), *row]",
            "test_pad_fills_up_on_the_right",
        ),
        "a batch bounded by its real tokens": Mutation(
            "longest * (len(group) + 1) > max_tokens",
            "sum(_length(each)[0] for each in [*group, example]) > max_tokens",
            "test_batches_hold_every_example_once_and_keep_the_limit",
        ),
        "the last batch lost": Mutation(
            "    if group:\n        yield group", "    return", "test_batches_hold_every_example_once_and_keep_the_limit"
        ),
        "not sorted": Mutation(
            "_packed(sorted(examples, key=_length), max_tokens)",
            "_packed(examples, max_tokens)",
            "test_a_batch_ends_only_where_the_next_example_does_not_fit",
        ),
        "pools in order of length": Mutation("draw.shuffle(packed)", "pass", "test_batches_of_a_pool_are_shuffled"),
        "lengths of the source": Mutation(
            "return len(example.tgt) + 1, len(example.src) + 1",
            "return len(example.src) + 1, len(example.tgt) + 1",
            "test_waste_by_hand",
        ),
        "padding over real tokens": Mutation("1 - real / places", "places / real - 1", "test_waste_by_hand"),
    },
    "_errors": {
        "a query with no key goes unnoticed": Mutation(
            "if not full:", "if False:", "test_attention.py::test_bad_input_gets_a_sentence[a query with no key]"
        ),
        "NaN goes unnoticed": Mutation(
            "if not finite.all():", "if False:", "test_attention.py::test_bad_input_gets_a_sentence[NaN]"
        ),
        "a mask once seen is seen for ever": Mutation(
            "    return value._version, value.storage_offset()",
            "    return 0, value.storage_offset()",
            "test_capture.py::test_a_mask_is_looked_at_once_however_many_layers_it_passes[True]",
        ),
        "a part of a mask counts as the whole": Mutation(
            "value.storage_offset(), value.shape[-1:], axes",
            "True, True, True",
            "test_capture.py::test_a_part_of_a_mask_is_another_mask",
        ),
        "nothing is remembered": Mutation(
            "    _seen[owner] = looks | {look}",
            "    _seen[owner] = set()",
            "test_capture.py::test_a_mask_is_looked_at_once_however_many_layers_it_passes[False]",
        ),
        "a mask of floats goes unnoticed": Mutation(
            "if mask.dtype != torch.bool:",
            "if False:",
            "test_attention.py::test_bad_input_gets_a_sentence[mask of floats]",
        ),
        "a transposed mask goes unnoticed": Mutation(
            "if mask.dim() < 2 or mask.shape[-1] != shape[-1] or not _broadcasts(tuple(mask.shape), shape):",
            "if False:",
            "test_attention.py::test_bad_input_gets_a_sentence[mask transposed]",
        ),
    },
    "training": {
        "the peak misplaced": Mutation(
            "step * warmup**-1.5)",
            "step * warmup**-1.4)",
            "test_peak_is_at_warmup_and_as_high_as_one_over_the_root_of_d_model_times_warmup",
        ),
        "no warm-up": Mutation(
            "min(step**-0.5, step * warmup**-1.5)",
            "step**-0.5",
            "test_schedule_equals_the_papers_formula_by_powers_of_logarithms",
        ),
        "rate grows with the width": Mutation(
            "return d_model**-0.5 *",
            "return d_model**0.5 *",
            "test_base_model_of_the_paper_peaks_at_7e_minus_4",
        ),
        "targets not smoothed": Mutation(
            "* (1 - epsilon) + epsilon / vocab_size",
            "* (1 - 0 * epsilon)",
            "test_no_model_gets_below_the_entropy_of_the_smoothed_targets",
        ),
        "the other convention": Mutation(
            "* (1 - epsilon) + epsilon / vocab_size",
            "* (1 - epsilon * vocab_size / (vocab_size - 1)) + epsilon / (vocab_size - 1)",
            "test_smoothed_targets_are_a_distribution_with_the_true_token_on_top",
        ),
        "loss not smoothed": Mutation(
            "label_smoothing=epsilon, ",
            "",
            "test_loss_is_the_cross_entropy_against_the_smoothed_targets",
        ),
        "padding counts": Mutation(
            ", ignore_index=pad_id)\n    require_a_loss", ")\n    require_a_loss",
            "test_padding_is_ignored_whatever_its_id",
        ),
        "padding is id 0 whatever it is": Mutation(
            "ignore_index=pad_id)\n    require_a_loss", "ignore_index=0)\n    require_a_loss",
            "test_padding_is_ignored_whatever_its_id",
        ),
        "the target not shifted": Mutation(
            "tgt_in=pad([[bos, *example.tgt]",
            "tgt_in=pad([[*example.tgt, eos]",
            "test_a_batch_shifts_the_target_right",
        ),
        "PyTorch's own β₂": Mutation("betas=(0.9, 0.98)", "betas=(0.9, 0.999)", "test_adam_has_the_papers_settings"),
        "PyTorch's own ε": Mutation("eps=1e-9", "eps=1e-8", "test_adam_has_the_papers_settings"),
        "another optimiser": Mutation("torch.optim.Adam(", "torch.optim.Adamax(", "test_three_updates_equal_adam_by_hand"),
        "every micro-batch counts the same": Mutation(
            "share = (batch.tgt_out != pad_id).sum() / tokens",
            "share = 1 / len(group)",
            "test_accumulation_equals_one_big_batch",
        ),
        "micro-batches not averaged": Mutation(
            "epsilon, pad_id) * share", "epsilon, pad_id)", "test_accumulation_equals_one_big_batch"
        ),
        "the schedule steps per micro-batch": Mutation(
            "enumerate(_groups(batches, accumulate), start=1)",
            "zip(range(1, 10**9, accumulate), _groups(batches, accumulate))",
            "test_one_schedule_step_for_each_update_and_not_for_each_micro_batch",
        ),
        "steps count from 0": Mutation("start=1)", "start=0)", "test_a_step_tells_its_number_loss_rate_and_tokens"),
        "the rate never set": Mutation(
            'parameters["lr"] = lr(step)', "lr(step)", "test_three_updates_equal_adam_by_hand"
        ),
        "gradients pile up": Mutation(
            "        optimiser.zero_grad()\n", "", "test_gradients_do_not_pile_up_from_one_update_to_the_next"
        ),
        "not clipped": Mutation(
            "        nn.utils.clip_grad_norm_(model.parameters(), clip)\n",
            "",
            "test_clipping_shortens_a_long_gradient_and_leaves_a_short_one",
        ),
        "dropout off": Mutation("model.train()", "model.eval()", "test_the_loop_trains_with_dropout_on"),
        "the last micro-batches lost": Mutation(
            "while group := list(islice(rest, size)):",
            "while len(group := list(islice(rest, size))) == size:",
            "test_one_schedule_step_for_each_update_and_not_for_each_micro_batch",
        ),
    },
    "decoding": {
        "the cache reads everything again": Mutation(
            "read = ids if self.caches else self.written",
            "read = self.written",
            "test_cached_logits_equal_those_of_whole_passes",
        ),
        "without a cache the past is forgotten": Mutation(
            "read = ids if self.caches else self.written",
            "read = ids",
            "test_cached_logits_equal_those_of_whole_passes",
        ),
        "padding of the source is seen": Mutation(
            "self.model.decode(read, self.memory, self.memory_mask, self.caches)",
            "self.model.decode(read, self.memory, None, self.caches)",
            "test_selected_rows_go_on_as_if_they_had_been_alone[rows0-True]",
        ),
        "rows keep the cache of others": Mutation(
            "            own.select(rows)\n", "", "test_selected_rows_go_on_as_if_they_had_been_alone[rows1-True]"
        ),
        "rows keep the memory of others": Mutation(
            "                of_memory.select(rows)\n",
            "                pass\n",
            "test_selected_rows_go_on_as_if_they_had_been_alone[rows0-True]",
        ),
        "sources confused after a second selection": Mutation(
            "sources = self.sources[rows]", "sources = rows", "test_a_second_selection_counts_from_the_first"
        ),
        "least probable token": Mutation(
            "lambda logits: logits.argmax(dim=-1)",
            "lambda logits: logits.argmin(dim=-1)",
            "test_greedy_equals_a_slow_loop",
        ),
        "stops at the first <eos>": Mutation(
            "if done.all():", "if done.any():", "test_a_sentence_that_ended_is_padded_and_the_others_go_on"
        ),
        "goes on writing after <eos>": Mutation(
            ".masked_fill(done, model.config.pad_id)", "", "test_a_sentence_that_ended_is_padded_and_the_others_go_on"
        ),
        "<eos> is soon forgotten": Mutation(
            "done |= chosen == eos_id",
            "done = chosen == eos_id",
            "test_a_sentence_that_ended_is_padded_and_the_others_go_on",
        ),
        "temperature turned round": Mutation(
            "filter_logits(logits / temperature", "filter_logits(logits * temperature", "test_frequencies_match_the_probabilities"
        ),
        "temperature forgotten": Mutation(
            "filter_logits(logits / temperature", "filter_logits(logits", "test_frequencies_match_the_probabilities"
        ),
        "one more than k": Mutation("[..., top_k:]", "[..., top_k + 1 :]", "test_top_k_keeps_the_k_best"),
        "top-p loses the word that crosses the line": Mutation(
            "p.cumsum(dim=-1) - p ", "p.cumsum(dim=-1) ", "test_top_p_keeps_the_fewest_that_hold_p"
        ),
        "top-p cuts the best": Mutation(
            "sort(dim=-1, descending=True, stable=True)\n        p", "sort(dim=-1, descending=False, stable=True)\n        p", "test_top_p_keeps_the_fewest_that_hold_p"
        ),
        "top-p at the wrong places": Mutation(
            ".scatter(-1, order, held_before >= top_p)", " | (held_before >= top_p)", "test_top_p_keeps_the_fewest_that_hold_p"
        ),
        "no length penalty": Mutation(
            "return ((5 + length) / 6) ** alpha", "return 1.0", "test_without_the_penalty_the_beam_prefers_the_shorter"
        ),
        "multiplied by the penalty": Mutation(
            "total / length_penalty(self.length, self.alpha)",
            "total * length_penalty(self.length, self.alpha)",
            "test_hypotheses_carry_their_probability_and_come_best_first",
        ),
        "<eos> not counted": Mutation(
            "total / length_penalty(self.length,",
            "total / length_penalty(self.length - 1,",
            "test_hypotheses_carry_their_probability_and_come_best_first",
        ),
        "only the newest token counts": Mutation(
            "(self.open[row].log_p + more, row, token)",
            "(more, row, token)",
            "test_beam_search_equals_a_slow_beam_that_never_stops_early",
        ),
        "the worst are kept": Mutation(
            "heapq.nlargest(self.beam",
            "heapq.nsmallest(self.beam",
            "test_beam_search_equals_a_slow_beam_that_never_stops_early",
        ),
        "one more than the beam": Mutation(
            "heapq.nlargest(self.beam,",
            "heapq.nlargest(self.beam + 1,",
            "test_beam_names_the_row_that_each_hypothesis_continues",
        ),
        "parents lost": Mutation(
            "parents.append(row)", "parents.append(0)", "test_beam_names_the_row_that_each_hypothesis_continues"
        ),
        "stops when the first has ended": Mutation(
            "return bool(sure) and ceiling <= sure[0].score",
            "return bool(sure)",
            "test_early_stopping_never_loses_the_best",
        ),
        "stops by the present length's penalty": Mutation(
            "length_penalty(self.max_len, self.alpha)",
            "length_penalty(self.length, self.alpha)",
            "test_search_goes_on_while_an_open_hypothesis_may_still_win",
        ),
        "never stops early": Mutation(
            "return bool(sure) and ceiling <= sure[0].score",
            "return False",
            "test_search_goes_on_while_an_open_hypothesis_may_still_win",
        ),
        "sure of the best alone": Mutation(
            "self.finished[self.n_best - 1 :][:1]",
            "self.finished[:1]",
            "test_a_list_of_the_n_best_is_full_and_beyond_improvement",
        ),
        "in the order of their ends": Mutation(
            "        self.finished.sort(key=lambda hypothesis: -hypothesis.score)\n",
            "",
            "test_without_the_penalty_the_beam_prefers_the_shorter",
        ),
        "logits for log-probabilities": Mutation(
            "(best - logits.logsumexp(dim=-1, keepdim=True))",
            "best",
            "test_hypotheses_carry_their_probability_and_come_best_first",
        ),
        "rows counted from the first source": Mutation(
            "[start + row for row in parents]", "parents", "test_beam_search_equals_a_slow_beam_that_never_stops_early"
        ),
        "decodes with dropout": Mutation(
            "if model.training and model.config.dropout:",
            "if False:",
            "test_bad_input_gets_a_sentence[a model in training]",
        ),
    },
}
CASES = {(module, name): mutation for module, named in MUTATIONS.items() for name, mutation in named.items()}


def node(module: str, test: str) -> str:
    """The path of `test`: in the test file of its module unless it names another."""
    return test if "::" in test else f"test_{module}.py::{test}"


def mutated(module: str, mutation: Mutation) -> str | None:
    """The module's text after the mutation; None where its `old` does not stand exactly once."""
    source = (ROOT / "tfm_lib" / f"{module}.py").read_text(encoding="utf-8")
    return source.replace(mutation.old, mutation.new) if source.count(mutation.old) == 1 else None


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[str]]]:
    """What each named test says to its mutant and, under its own name, to the untouched core."""
    base = tmp_path_factory.mktemp("mutants")
    plan = {}

    def add(name: str, test: str, **replaced: str) -> None:
        package = base / str(len(plan)) / "tfm_lib"
        package.mkdir(parents=True)
        for path in (ROOT / "tfm_lib").glob("*.py"):
            text = replaced.get(path.stem, path.read_text(encoding="utf-8"))
            (package / path.name).write_text(text, encoding="utf-8")
        plan[name] = {"folder": str(package.parent), "test": test}

    for test in {node(module, mutation.test) for (module, _), mutation in CASES.items()}:
        add(test, test)
    for (module, name), mutation in CASES.items():
        text = mutated(module, mutation)
        if text is not None:
            add(f"{module}: {name}", node(module, mutation.test), **{module: text})
    result = base / "outcomes.json"
    runner = [sys.executable, str(Path(__file__).with_name("mutants.py")), str(result)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": ""}
    run = subprocess.run(
        runner, input=json.dumps(plan), cwd=base, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return json.loads(result.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("module", "name"), CASES, ids=[f"{module}: {name}" for module, name in CASES])
def test_named_test_turns_red(module, name, outcomes):
    mutation = CASES[module, name]
    test = node(module, mutation.test)
    assert mutated(module, mutation) is not None, f"{mutation.old!r} does not stand exactly once in {module}.py"
    assert outcomes[test]["passed"], f"{test} does not pass on the core itself: {outcomes[test]}"
    assert not outcomes[test]["failed"] + outcomes[test]["broken"]
    mutant = outcomes[f"{module}: {name}"]
    assert mutant["failed"], f"{test} does not notice: {mutant}"
    assert not mutant["broken"], f"the mutant does not run: {mutant}"


def test_every_core_module_has_mutations():
    assert {module for module in MUTATIONS if not module.startswith("_")} == set(CORE)
